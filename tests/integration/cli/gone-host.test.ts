import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { taskWorkflowId } from '../../../src/contracts/ids.ts';
import { listHosts } from '../../../src/store/kennel/hosts.ts';
import { findTask, insertTask, setTaskState } from '../../../src/store/kennel/tasks/tasks.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';

/** `fetch kennel forget-host`: a host that will not come back, and the tasks that wait for it. */

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app?.close());

const forget = async (...args: string[]): Promise<string> =>
  (
    await promisify(execFile)(process.execPath, [ENTRY, 'kennel', 'forget-host', ...args], {
      env: { ...process.env, ...app.settings },
    })
  ).stdout;

async function hostWithTask(host: string, thread: string): Promise<string> {
  const { db } = app.store;
  const seen_at = sql<Date>`now() - interval '1 hour'`;
  await db
    .insertInto('kennel_hosts')
    .values({ host, slots: 4, ready: true, problem: null, harnesses: '[]', seen_at })
    .execute();
  await db.insertInto('workspaces').values({ host, name: 'shop', path: '/gone/shop', profile: null }).execute();
  const { chat_id } = await db
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', thread)
    .executeTakeFirstOrThrow();
  await db.updateTable('chats').set({ workspace: 'shop', workspace_host: host }).where('id', '=', chat_id).execute();
  const id = `tsk_${host.replaceAll('-', '')}`;
  const about = {
    goal: 'paint it blue',
    agent: 'practice',
    harness: 'practice',
    worktree: false,
    timeout_ms: 60_000,
  } as const;
  await insertTask(db, {
    ...about,
    id,
    chat_id,
    call_id: `call_${id}`,
    workflow_id: taskWorkflowId(id),
    host,
    workspace: 'shop',
  });
  await setTaskState(db, id, 'running');
  return id;
}

it('a host that is gone for good leaves the list, and the chats of its tasks are told once that they are lost', async () => {
  const thread = await app.thread();
  const id = await hostWithTask('old-laptop', thread);
  await expect(forget('nobody')).rejects.toThrow(/no kennel host nobody\. Known are: .*old-laptop/);
  await expect(forget('local', '--yes')).rejects.toThrow(/The host local is there/);
  await expect(forget('old-laptop')).rejects.toThrow(/These tasks would be lost/);
  expect((await findTask(app.store.db, id))?.ended_at).toBeNull();

  expect(await forget('old-laptop', '--yes')).toContain('old-laptop is removed from the list');
  expect((await listHosts(app.store.db)).map(({ host }) => host)).toEqual(['local']);
  expect(await findTask(app.store.db, id)).toMatchObject({
    state: 'failed',
    reason: expect.stringContaining('was removed for good'),
  });
  const told = async () =>
    (await app.detail(thread)).items.filter(
      ({ kind, detail }) => kind === 'agent_message' && detail?.includes('is lost: "paint it blue"'),
    );
  await until('the chat is told', async () => (await told()).length > 0);
  await until(
    'it counts as sent',
    async () => {
      const row = await app.store.db
        .selectFrom('outbox')
        .select('state')
        .where('id', '=', `out_${id}_result`)
        .executeTakeFirst();
      return row?.state === 'sent';
    },
    90_000,
  );
  expect(await told()).toHaveLength(1);
  // the next workspace tool of the chat looks for a host that is there
  const chat = await app.store.db
    .selectFrom('chats')
    .select(['workspace', 'workspace_host'])
    .where('workspace_host', '=', 'old-laptop')
    .execute();
  expect(chat).toEqual([]);
  await expect(forget('old-laptop')).rejects.toThrow(/no kennel host old-laptop/);
}, 150_000);
