import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Kennel } from '../../../src/adapters/kennel/kennel.ts';
import type { Config } from '../../../src/config.ts';
import type { Identity } from '../../../src/contracts/decision.ts';
import { english } from '../../../src/domain/texts/say.ts';
import type { CommandContext } from '../../../src/gateway/intake/commands/command.ts';
import { shareCommand } from '../../../src/gateway/intake/commands/trusted.ts';
import { receive } from '../../../src/store/chats/messages/inbox.ts';
import { reachOf } from '../../../src/store/chats/shares.ts';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { reportHost } from '../../../src/store/kennel/hosts.ts';
import { forgetWorkspace, recordWorkspaces, selectWorkspace } from '../../../src/store/kennel/workspaces/workspaces.ts';
import { taskTools } from '../../../src/tools/tasks/tasks.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { bringInTools } from '../../../src/tools/workspace/bring-in.ts';
import { fileTools } from '../../../src/tools/workspace/files.ts';
import { workspaceTools } from '../../../src/tools/workspace/workspaces.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type ToolBench, toolBench } from '../../support/tool-bench.ts';

/** What a turn may reach that follows the words of somebody else than the owner. */

const HOST = 'here';
const folder = mkdtempSync(join(tmpdir(), 'fetch-shares-'));
const config = {
  FETCH_KENNEL_AGENTS: 'practice',
  TRUSTED_PHONE_NUMBERS: '491701234567,491707654321',
} as unknown as Config;
const tools: Tool[] = [...workspaceTools, ...bringInTools, ...fileTools, ...taskTools];
let database: TestDatabase;
let count = 0;

beforeAll(async () => {
  database = await startTestDatabase();
  const names = ['demo', 'secret'];
  for (const name of names) mkdirSync(join(folder, name));
  await reportHost(database.store.db, { host: HOST, slots: 1, ready: true, problem: null, harnesses: [] });
  await recordWorkspaces(
    database.store.db,
    HOST,
    names.map((name) => ({ name, path: join(folder, name) })),
  );
}, 60_000);
afterAll(async () => {
  await database?.close();
  rmSync(folder, { recursive: true, force: true });
});

const bench = () =>
  toolBench({
    db: database.store.db,
    config,
    kennel: { ready: async () => {}, provide: async () => ({ notes: [] }) } as unknown as Kennel,
    host: HOST,
    workspacesFolder: folder,
    tools,
  });
/** As if this message had begun the turn, or steered it. */
async function writes(to: ToolBench, by: Identity, kind: 'turn' | 'steer' = 'turn'): Promise<void> {
  const { threadId, turnId } = to.context('x');
  const inboxId = `inb_${++count}`;
  const arrival = kind === 'turn' ? { kind, inboxId, turnId, threadId } : { kind, inboxId, turnId };
  const row = { id: inboxId, turnId, key: { id: inboxId, fingerprint: null }, arrival, body: 'go', writtenBy: [by] };
  await onThread(database.store.db, threadId, (tx) => receive(tx, row));
}
const order = (text: string, owned = true): Promise<string> =>
  database.store.db.transaction().execute(async (now) => {
    const asked = shareCommand.parse(text)!;
    const refused = owned ? null : shareCommand.ownersOnly!(asked);
    return refused
      ? english(refused)
      : String(await shareCommand.run(asked, { tx: { now }, config, say: english } as CommandContext));
  });

const owner: Identity = { role: 'owner', channel: 'whatsapp', id: '491701111111' };
const ben: Identity = { role: 'trusted', channel: 'whatsapp', id: '491701234567' };
const cleo: Identity = { role: 'trusted', channel: 'whatsapp', id: '491707654321' };

it('shares only with those who may write, and only what is there', async () => {
  expect(await order('share demo with +49 170 9999999')).toMatch(/^\+491709999999 may not write to me\./);
  expect(await order('share nothing with +49 170 1234567')).toBe(
    'There is no workspace nothing. There are: demo, secret.',
  );
  expect(await order('share demo with +49 170 1234567', false)).toBe('Only the owner shares workspaces.');
  expect(await order('shares')).toBe('No workspace is shared.');
});

it('lets the owner reach everything, and somebody else nothing before it is shared, everything that is shared, and nothing again after', async () => {
  const [own, his] = [await bench(), await bench()];
  await writes(own, owner);
  await writes(his, ben);
  expect((await own.call('workspace_list', {})).output).toMatch(/^2 workspaces: demo, secret/);
  expect((await his.call('workspace_list', {})).output).toMatch(/^There are no workspaces yet/);
  for (const [name, args] of [
    ['workspace_select', { name: 'secret' }],
    ['file_read', { path: 'a.txt', workspace: 'secret' }],
    ['file_delete', { path: 'a.txt', workspace: 'secret' }],
    ['workspace_delete', { name: 'secret' }],
    ['task_create', { goal: 'x', workspace: 'secret' }],
  ] as const)
    expect(await his.call(name, args)).toMatchObject({
      ok: false,
      output: expect.stringMatching(/^There is no workspace "?secret"?/),
    });

  expect(await order('Share demo with +49 (170) 1234567')).toMatch(/^demo is shared with \+491701234567/);
  expect(await order('shares')).toBe('demo: +491701234567');
  expect((await his.call('workspace_list', {})).output).toMatch(/^1 workspace: demo/);
  expect(await his.call('workspace_select', { name: 'demo' })).toMatchObject({ ok: true });
  expect(await his.call('workspace_select', { name: 'secret' })).toMatchObject({ ok: false });

  expect(await order('unshare demo with +491701234567')).toBe('demo is no longer shared with +491701234567.');
  // it is active in his chat, and there no more
  expect((await his.call('file_read', { path: 'a.txt' })).output).toBe(
    'There is no workspace yet. One has to be made or brought in first.',
  );
});

it('lets nobody but the owner bring in a folder of the machine', async () => {
  const [own, his] = [await bench(), await bench()];
  await writes(own, owner);
  await writes(his, ben);
  expect(await his.call('workspace_clone', { from: '/etc' })).toEqual({
    ok: false,
    output: 'Only the owner brings in projects.',
  });
  expect((await own.call('workspace_clone', { from: '/etc' })).output).toMatch(/^\/etc is not a git repository/);
});

it('holds a turn of several people to what is shared with all of them, also one that the owner began', async () => {
  const group = await bench();
  await order('share demo with +491701234567');
  await writes(group, owner);
  await selectWorkspace(database.store.db, group.chatId, { host: HOST, name: 'secret' });
  expect((await group.call('workspace_list', {})).output).toMatch(/^2 workspaces/);
  await writes(group, ben, 'steer');
  expect((await group.call('workspace_list', {})).output).toMatch(/^1 workspace: demo/);
  expect(await group.call('file_read', { path: 'a.txt', workspace: 'secret' })).toMatchObject({ ok: false });
  await writes(group, cleo, 'steer');
  expect((await group.call('workspace_list', {})).output).toMatch(/^There are no workspaces yet/);
  // a run of a workflow in this chat follows the words of all of them
  expect(await reachOf(database.store.db, { chatId: group.chatId, turnId: 'wfr_1' })).toEqual(new Set());
});

it('shares nothing of a name that comes again', async () => {
  await order('share demo with +491701234567');
  await forgetWorkspace(database.store.db, HOST, 'demo');
  expect(await order('shares')).toBe('No workspace is shared.');
});
