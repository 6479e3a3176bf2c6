import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  ModelCheck,
  OwnerAgents,
  OwnerBackups,
  OwnerChats,
  OwnerDone,
  OwnerLogs,
  OwnerPeople,
  OwnerSettings,
  OwnerTemporal,
  OwnerWhatsApp,
  OwnerWorkspaces,
  SettingsChanged,
} from '../../../src/contracts/owner.ts';
import { addRules } from '../../../src/store/kennel/egress-rules.ts';
import { reportHost } from '../../../src/store/kennel/hosts.ts';
import { saveWorkspace } from '../../../src/store/kennel/workspaces/workspaces.ts';
import { giveGrant } from '../../../src/store/turns/steps/taint.ts';
import { report } from '../../../src/store/whatsapp/account.ts';
import { saveGroups } from '../../../src/store/whatsapp/chats.ts';
import { type OwnerApi, startOwnerApi } from '../../support/owner-api.ts';
import { newThread } from '../../support/thread.ts';

let owner: OwnerApi;
beforeAll(async () => {
  owner = await startOwnerApi();
}, 120_000);
afterAll(() => owner?.close());

const envFile = () => join(owner.api.config.FETCH_HOME, '.env');
type Refused = { error?: { message: string } };

describe('settings', () => {
  const patch = (settings: Record<string, string | null>) =>
    owner.ask<SettingsChanged & Refused>('PATCH', '/v1/owner/settings', { settings });
  const setting = async (name: string) =>
    (await owner.get<OwnerSettings>('/v1/owner/settings')).settings.find((each) => each.name === name)!;

  it('are shown with their source and default, secrets masked', async () => {
    await patch({ OPENAI_API_KEY: 'sk-very-secret' });
    expect(await setting('OPENAI_API_KEY')).toMatchObject({
      group: 'model',
      value: '********',
      secret: true,
      source: 'file',
    });
    expect(await setting('LOG_LEVEL')).toMatchObject({
      value: 'info',
      source: 'default',
      choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
    });
    expect(await setting('AGENT_MODEL')).toMatchObject({ value: 'm', source: 'flag', fixed: true });
  });

  it('that are live hold at once, others are named as waiting for a restart', async () => {
    const all = (await owner.get<OwnerSettings>('/v1/owner/settings')).settings;
    expect(all.find(({ name }) => name === 'FETCH_STATUS_PORT')!.live).toBe(false);
    const { body } = await patch({ FETCH_MAX_DAY_USD: '12', FETCH_STATUS_PORT: '9999' });
    expect([...body.updated, ...body.restart]).toEqual(
      expect.arrayContaining(['FETCH_MAX_DAY_USD', 'FETCH_STATUS_PORT']),
    );
    expect((await owner.get<OwnerSettings>('/v1/owner/settings')).restart).toContain('FETCH_STATUS_PORT');
    expect(readFileSync(envFile(), 'utf8')).toContain('FETCH_MAX_DAY_USD=12');
    await patch({ FETCH_STATUS_PORT: null, FETCH_MAX_DAY_USD: '' });
    expect(readFileSync(envFile(), 'utf8')).not.toContain('FETCH_MAX_DAY_USD');
  });

  it('change together or not at all, and each mistake is named', async () => {
    const before = readFileSync(envFile(), 'utf8');
    const refused = await patch({
      FETCH_MAX_DAY_USD: '5',
      FETCH_STATUS_PORT: 'x',
      FETCH_MAX_DAY_USDD: '1',
      AGENT_MODEL: 'other',
      FETCH_HOME: '/',
    });
    expect(refused.status).toBe(400);
    for (const said of [
      'FETCH_STATUS_PORT: ',
      'Did you mean FETCH_MAX_DAY_USD?',
      'AGENT_MODEL: the flag sets it',
      'FETCH_HOME says where',
      'Nothing was changed',
    ])
      expect(refused.body.error?.message).toContain(said);
    expect(readFileSync(envFile(), 'utf8')).toBe(before);
  });

  it('leave a mark in the audit log, without their values', async () => {
    await patch({ OPENAI_API_KEY: 'sk-another-secret' });
    const rows = await owner.api.store.db
      .selectFrom('audit_log')
      .select('body')
      .orderBy('seq', 'desc')
      .limit(5)
      .execute();
    expect(JSON.stringify(rows)).toContain('OPENAI_API_KEY');
    expect(JSON.stringify(rows)).not.toContain('sk-another-secret');
    await patch({ OPENAI_API_KEY: null });
  });
});

describe('a check of the model', () => {
  let endpoint: Server;
  const keys: string[] = [];
  beforeAll(async () => {
    endpoint = createServer((request, response) => {
      keys.push(request.headers.authorization ?? '');
      if (request.headers.authorization !== 'Bearer right')
        return void response
          .writeHead(401, { 'content-type': 'application/json' })
          .end('{"error":{"message":"wrong key"}}');
      if (request.url?.endsWith('/models'))
        return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"id":"small"}]}');
      const chunk = {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'small',
        choices: [{ index: 0, delta: { role: 'assistant', content: 'ready' }, finish_reason: 'stop' }],
      };
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    });
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => void endpoint.close());
  const check = async (body: object) =>
    (
      await owner.ask<ModelCheck>('POST', '/v1/owner/settings/model/check', {
        base_url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`,
        model: 'small',
        ...body,
      })
    ).body;

  it('is one real call, which says what is wrong with the key', async () => {
    expect(await check({ api_key: 'right' })).toMatchObject({ ok: true, model: 'small', problem: null });
    expect(await check({ api_key: 'wrong' })).toMatchObject({ ok: false, problem: expect.stringMatching(/key|401/i) });
  });

  it('sends the key of now to no other endpoint', async () => {
    // as after a restart with it
    Object.assign(owner.api.config, { OPENAI_API_KEY: 'of-another-place' });
    keys.length = 0;
    expect((await check({})).ok).toBe(false);
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.join()).not.toContain('of-another-place');
    Object.assign(owner.api.config, { OPENAI_API_KEY: undefined });
  });
});

describe('people and chats', () => {
  it('may be trusted on WhatsApp and not any more', async () => {
    expect((await owner.ask('POST', '/v1/owner/people', { phone: '+49 170 1234567' })).status).toBe(200);
    expect((await owner.get<OwnerPeople>('/v1/owner/people')).trusted).toEqual([
      { phone: '491701234567', name: '+491701234567', by_setting: false, shares: [] },
    ]);
    expect((await owner.ask('DELETE', '/v1/owner/people/491701234567')).status).toBe(200);
    expect((await owner.ask('DELETE', '/v1/owner/people/491701234567')).status).toBe(404);
    expect((await owner.ask('POST', '/v1/owner/people', { phone: 'Ann' })).status).toBe(400);
  });

  it('have their autonomy set, and lose what was allowed for good; a group only becomes more careful', async () => {
    const { db } = owner.api.store;
    const { threadId, chatId } = await newThread(db);
    await db.transaction().execute((tx) => giveGrant(tx, chatId, 'fetch', 'call_x'));
    const of = async (id: string) =>
      (await owner.get<OwnerChats>('/v1/owner/chats')).chats.find(({ chat }) => chat.thread_id === id)!;
    expect((await owner.ask('PATCH', `/v1/owner/chats/${threadId}`, { autonomy: 'autonomous' })).status).toBe(200);
    expect(await of(threadId)).toMatchObject({ autonomy: 'autonomous', grants: ['fetch'] });
    const { body } = await owner.ask<OwnerDone>('POST', `/v1/owner/chats/${threadId}/ask-again`);
    expect([body.message, (await of(threadId)).grants]).toEqual(['From now on I ask again before: fetch.', []]);
    await saveGroups(
      db,
      'default',
      [{ id: '1-2@g.us', subject: 'Family', participants: [{ id: 'a' }, { id: 'b' }] }],
      new Date(),
    );
    const group = await newThread(db, { channel: 'whatsapp', address: '1-2@g.us' });
    expect(await of(group.threadId)).toMatchObject({ chat: { name: 'Family', group: true } });
    expect((await owner.ask('PATCH', `/v1/owner/chats/${group.threadId}`, { autonomy: 'autonomous' })).status).toBe(
      409,
    );
    expect((await owner.ask('PATCH', `/v1/owner/chats/${group.threadId}`, { autonomy: 'supervised' })).status).toBe(
      200,
    );
    expect((await owner.get<OwnerPeople>('/v1/owner/people')).groups).toEqual([
      { name: 'Family', channel: 'whatsapp', members: 2, thread_id: group.threadId, answered: false },
    ]);
  });
});

describe('WhatsApp', () => {
  it('is linked by a QR that is there as text and picture, and unlinked', async () => {
    const { db } = owner.api.store;
    expect(await owner.get<OwnerWhatsApp>('/v1/owner/whatsapp')).toMatchObject({
      state: 'disconnected',
      wanted: 'off',
      qr: null,
      qr_image: null,
    });
    expect((await owner.ask('POST', '/v1/owner/whatsapp/pair')).status).toBe(200);
    await db
      .updateTable('wa_accounts')
      .set({ lease_until: new Date(Date.now() + 60_000) })
      .execute();
    await report(db, 'default', { state: 'qr_pending', qr: 'text-of-the-qr' });
    const shown = await owner.get<OwnerWhatsApp>('/v1/owner/whatsapp');
    expect(shown).toMatchObject({ state: 'qr_pending', wanted: 'on', qr: 'text-of-the-qr' });
    expect(shown.qr_image).toMatch(/^data:image\/svg\+xml;base64,/);
    expect((await owner.ask('POST', '/v1/owner/whatsapp/pair', { phone: '1' })).status).toBe(422);
    await owner.ask('POST', '/v1/owner/whatsapp/unlink');
    expect(await owner.get<OwnerWhatsApp>('/v1/owner/whatsapp')).toMatchObject({ wanted: 'out' });
  });
});

describe('workspaces', () => {
  it('are listed with branch, changes, tasks and rules about hosts, each of which can be taken back', async () => {
    const { db } = owner.api.store;
    const git = { branch: 'main', head: 'abc', modified: 2, untracked: 1, ahead: 0, behind: 0, remote: null };
    await saveWorkspace(db, {
      host: 'local',
      name: 'demo',
      path: '/w/demo',
      profile: { language: 'TypeScript', framework: null, packageManager: 'npm', test: null, git },
    });
    const task = await owner.task('work there', { workspace: 'demo', worktree: true });
    await addRules(db, task, [{ host: 'example.com', port: 443 }], {
      verdict: 'project',
      questionId: 'q',
      by: { role: 'owner', channel: 'api' } as never,
    });
    const listed = async () =>
      (await owner.get<OwnerWorkspaces>('/v1/owner/workspaces')).workspaces.find(({ name }) => name === 'demo')!;
    expect(await listed()).toMatchObject({
      ...{
        path: '/w/demo',
        git: { branch: 'main', modified: 2, untracked: 1 },
        tasks: [{ id: task.id, worktree: `fetch/${task.id}` }],
      },
      egress: [{ to: 'example.com', port: 443, allowed: true, task_id: null, once: false }],
    });
    const rule = { host: 'local', workspace: 'demo', to: 'example.com', port: 443 };
    expect((await owner.ask('POST', '/v1/owner/egress/remove', rule)).status).toBe(200);
    expect((await listed()).egress).toEqual([]);
    expect((await owner.ask('POST', '/v1/owner/egress/remove', rule)).status).toBe(404);
  });
});

describe('the instance', () => {
  it('shows which agents are ready where', async () => {
    const harnesses = [{ name: 'claude' as const, ready: false, why: 'no key' }];
    await reportHost(owner.api.store.db, { host: 'laptop', slots: 2, ready: true, problem: null, harnesses });
    const { hosts } = await owner.get<OwnerAgents>('/v1/owner/agents');
    expect(hosts).toMatchObject([
      { host: 'laptop', alive: true, agents: [{ name: 'claude', label: 'Claude Code', ready: false, why: 'no key' }] },
    ]);
  });

  it('shows the end of its logs, masks a secret, and reads on from there', async () => {
    const { FETCH_HOME } = owner.api.config;
    Object.assign(owner.api.config, { OPENAI_API_KEY: 'sk-in-a-log-line' });
    mkdirSync(join(FETCH_HOME, 'logs'), { recursive: true });
    const file = join(FETCH_HOME, 'logs', 'worker.log');
    const entry = (n: number) =>
      `${JSON.stringify({ time: 1_700_000_000_000 + n, level: 30, msg: `line ${n} sk-in-a-log-line` })}\n`;
    writeFileSync(file, [1, 2, 3].map(entry).join(''));
    const first = await owner.get<OwnerLogs>('/v1/owner/logs?limit=2');
    expect(first.lines.map(({ role, level, text }) => [role, level, text])).toEqual(
      [2, 3].map((n) => ['worker', 'info', `line ${n} ********`]),
    );
    writeFileSync(file, `${entry(4)}half a line`, { flag: 'a' });
    const next = await owner.get<OwnerLogs>(`/v1/owner/logs?after=${encodeURIComponent(first.next)}`);
    expect(next.lines.map(({ text }) => text.slice(0, 6))).toEqual(['line 4']);
    expect((await owner.ask('GET', '/v1/owner/logs?after=nonsense')).status).toBe(400);
    expect((await owner.ask('GET', '/v1/owner/logs?role=../../etc/passwd')).status).toBe(400);
    Object.assign(owner.api.config, { OPENAI_API_KEY: undefined });
  });

  it('shows its nightly backups, and what a doctor finds', async () => {
    const folder = join(owner.api.config.FETCH_HOME, 'backups');
    expect(await owner.get<OwnerBackups>('/v1/owner/backups')).toMatchObject({ folder: null, backups: [] });
    mkdirSync(folder);
    writeFileSync(join(folder, 'fetch-2026-01-02T030405.backup'), 'x'.repeat(10));
    Object.assign(owner.api.config, { FETCH_BACKUP_FOLDER: folder });
    expect((await owner.get<OwnerBackups>('/v1/owner/backups')).backups).toMatchObject([
      { name: 'fetch-2026-01-02T030405.backup', bytes: 10 },
    ]);
    expect(await owner.get<OwnerTemporal>('/v1/owner/temporal?workflow=chat/api/x')).toEqual({
      url: null,
      why: expect.stringContaining('Nothing runs'),
    });
  });
});

it('nothing of all this is for somebody without the token', async () => {
  const { runtimeEndpoints } = await import('../../../src/api/runtime-api.ts');
  const { send } = await import('../../conformance/golden.ts');
  const owners = runtimeEndpoints.filter(({ path }) => path.startsWith('/v1/owner/') || path.endsWith('/attachments'));
  expect(owners.length).toBeGreaterThan(40);
  for (const { method, path } of owners) {
    const { status } = await send(owner.api.port, method, path.replaceAll(/\{\w+\}/g, 'x'), {
      Authorization: 'Bearer wrong',
    });
    expect([method, path, status]).toEqual([method, path, 401]);
  }
});
