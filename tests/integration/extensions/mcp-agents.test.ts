import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ScheduleNotFoundError } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { forwardSocket } from '../../../kennel/runner/watch/socket-forwarder.ts';
import type { KennelDeps } from '../../../src/activities/activity-deps.ts';
import { createChatTools } from '../../../src/activities/task/chat-tools.ts';
import { taskMcp, toolsForAgents } from '../../../src/adapters/mcp/agent-servers.ts';
import { connectTo } from '../../../src/adapters/mcp/configured.ts';
import { loadConfig } from '../../../src/config.ts';
import { parseSchedule } from '../../../src/domain/cron.ts';
import { parseMcpConfig } from '../../../src/domain/extensions/mcp-config.ts';
import { reachedBy } from '../../../src/store/kennel/egress.ts';
import { insertPrompt } from '../../../src/store/routines/automations.ts';
import { type GateBench, type OpenedTask, startGateBench } from '../../support/gate-bench.ts';
import { agreeTo } from '../../support/mcp/agree.ts';
import { startMcpServer, type TestMcpServer } from '../../support/mcp/server.ts';
import { until } from '../../support/until.ts';

/** MCP servers of the owner through the gate of a task, as the container of a coding agent reaches them. */

let bench: GateBench;
let server: TestMcpServer;
let opened: OpenedTask;
let port: number;
const signal = () => AbortSignal.timeout(20_000);
const entry = (more: object = {}) => ({
  url: server.url,
  headers: { 'X-Key': 'never-inside-0123456789' },
  agents: true,
  tools: { echo: { danger: 'SAFE' }, die: { danger: 'SAFE' }, note: { danger: 'DANGEROUS' } },
  ...more,
});
const configure = (servers: object) =>
  writeFileSync(join(bench.home, 'mcp.json'), JSON.stringify({ mcpServers: servers }));
const config = () => loadConfig({ FETCH_HOME: bench.home }, {});

/** What an agent does inside. */
async function inside(name: string, tool?: string, args: Record<string, unknown> = {}) {
  const { servers } = parseMcpConfig(
    JSON.stringify({ mcpServers: { s: { url: `http://127.0.0.1:${port}/${name}` } } }),
  );
  const session = await connectTo(servers[0]!, {}, signal());
  try {
    return tool === undefined
      ? (await session.tools(signal())).map(({ name }) => name)
      : await session.call(tool, args, { signal: signal(), timeoutMs: 15_000 });
  } finally {
    await session.close();
  }
}

beforeAll(async () => {
  bench = await startGateBench();
});
afterAll(() => bench?.close());
beforeEach(async () => {
  server = await startMcpServer();
  // no server of Temporal is here: what is sent waits in the store, and no schedule was made there
  const describe = () => Promise.reject(new ScheduleNotFoundError('none', 'none'));
  const temporal = { schedule: { getHandle: () => ({ describe }) } } as unknown as KennelDeps['temporal'];
  const chat = (taskId: string) => createChatTools({ db: bench.db, config: config(), temporal }, taskId);
  opened = await bench.task('demo', {
    mcp: (task) => taskMcp({ db: bench.db, config: config(), ...task, chat: chat(task.taskId) }),
  });
  const forwarded = await forwardSocket(0, join(bench.home, opened.task.id, 'mcp.sock'));
  bench.open.push(server, forwarded);
  port = forwarded.port;
});
afterEach(async () => {
  await bench.cleared();
  await bench.db.deleteFrom('extensions').execute();
  await bench.db.deleteFrom('extension_versions').execute();
});

it('has no DANGEROUS tool of it, and its key is added outside', async () => {
  configure({ news: entry() });
  await agreeTo(bench.db, 'news', entry());
  expect(await inside('news')).toEqual(['die', 'echo']);
  expect(await inside('news', 'echo', { text: 'from inside' })).toMatchObject({ ok: true, text: 'from inside' });
  expect(server.headers.at(-1)).toMatchObject({ 'x-key': 'never-inside-0123456789' });
  await expect(inside('news', 'note', { text: 'no' })).rejects.toThrow(/There is no such tool/);
  expect(server.calls.map(({ tool }) => tool)).toEqual(['echo']);
});

it('uses a MODERATE tool after a yes of the person, and never for a call that waited, which may have been given up', async () => {
  const asking = entry({
    tools: { echo: { danger: 'MODERATE' }, die: { danger: 'MODERATE' }, note: { danger: 'DANGEROUS' } },
  });
  configure({ news: asking });
  await agreeTo(bench.db, 'news', asking);
  expect(await inside('news')).toEqual(['die', 'echo']);
  const waiting = inside('news', 'echo', { text: 'one' });
  await opened.asked(1);
  const question = await opened.answer('this task');
  expect(question.prompt).toMatch(
    /^The agent in demo wants the MCP tool news\/echo\.\nA yes to an MCP tool holds for every call of it/,
  );
  expect(await waiting).toMatchObject({
    ok: false,
    text: 'The person has allowed the MCP tool news/echo. Nothing was called yet: call it again now.',
  });
  expect(server.calls).toEqual([]);
  expect(await inside('news', 'echo', { text: 'two' })).toMatchObject({ ok: true, text: 'two' });
  // a yes to one tool is none to another
  const other = inside('news', 'die');
  await opened.asked(1);
  await opened.answer('no');
  expect(await other).toMatchObject({
    ok: false,
    text: expect.stringMatching(/^The person has not allowed the MCP tool news\/die\. Do not try it again/),
  });
  expect(server.calls.map(({ tool }) => tool)).toEqual(['echo']);
});

it('counts as text of others that the task has read', async () => {
  configure({ news: entry() });
  await agreeTo(bench.db, 'news', entry());
  expect(await reachedBy(bench.db, opened.task.id)).toEqual([]);
  await inside('news', 'echo', { text: 'twelve bytes' });
  expect(await reachedBy(bench.db, opened.task.id)).toMatchObject([
    { host: 'mcp server news', connections: 1, received: 12 },
  ]);
});

it('is not there before the owner said yes, and without `agents`', async () => {
  const offered = async () => [
    ...(await toolsForAgents({ db: bench.db, config: config(), threadId: opened.task.thread_id })).keys(),
  ];
  configure({ news: entry() });
  await expect(inside('news')).rejects.toThrow(/404|cannot be reached/);
  expect(await offered()).toEqual([]);
  const without = entry({ agents: false });
  configure({ news: without });
  await agreeTo(bench.db, 'news', without);
  await expect(inside('news')).rejects.toThrow();
  expect(await offered()).toEqual([]);
  configure({ news: entry() });
  await agreeTo(bench.db, 'news', entry());
  expect(await offered()).toEqual(['news']);
});

it('calls nothing when the server offers something else than what was agreed to, or the yes was taken back', async () => {
  configure({ news: entry() });
  const hash = await agreeTo(bench.db, 'news', entry());
  server.offered[0] = { ...server.offered[0]!, description: 'Says it again, and keeps it.' };
  expect(await inside('news', 'echo', { text: 'hello' })).toMatchObject({
    ok: false,
    text: expect.stringMatching(/Nothing was called/),
  });
  await bench.db.updateTable('extension_versions').set({ agreed: false }).where('hash', '=', hash).execute();
  await expect(inside('news', 'echo', { text: 'hello' })).rejects.toThrow();
  expect(server.calls).toEqual([]);
});

it('says that an outcome is not known when the server dies, and goes on', async () => {
  configure({ news: entry() });
  await agreeTo(bench.db, 'news', entry());
  expect(await inside('news', 'die')).toMatchObject({
    ok: false,
    text: expect.stringMatching(/Whether the call had an effect is unknown/),
  });
  expect(await inside('news', 'echo', { text: 'still here' })).toMatchObject({ ok: true });
});

it('ends with the gate of its task', async () => {
  configure({ news: entry() });
  await agreeTo(bench.db, 'news', entry());
  await opened.gate.close(opened.task.id);
  expect(
    (await fetch(`http://127.0.0.1:${port}/news`, { method: 'POST', signal: AbortSignal.timeout(500) }).catch(
      (error: Error) => error,
    )) instanceof Error,
  ).toBe(true);
});

/** A file of NanoClaw's protocol, as the adapter inside passes it on. */
const call = async (name: string, args: object, key: string) =>
  (await (
    await fetch(`http://127.0.0.1:${port}/nanoclaw/calls`, {
      method: 'POST',
      body: JSON.stringify({ name, args, key }),
    })
  ).json()) as { ok: boolean; text: string };
const sent = async () =>
  (
    await bench.db
      .selectFrom('outbox')
      .select('body')
      .where('chat_id', '=', opened.task.chat_id)
      .where('id', 'like', `%${opened.task.id}_say_%`)
      .execute()
  ).map(({ body }) => body);

it('speaks in the chat of its task, and in no other, once for each call however often it comes', async () => {
  expect(await inside('nanoclaw')).toEqual(expect.arrayContaining(['send_message', 'schedule_task', 'list_tasks']));
  expect(await call('send_message', { text: 'half\nway', sender: 'Ann' }, 'one')).toMatchObject({ ok: true });
  expect(await call('send_message', { text: 'half\nway' }, 'one')).toMatchObject({ ok: true });
  expect(await sent()).toEqual([expect.stringMatching(/ in demo:\n> half\n> way$/)]);
  expect(await inside('nanoclaw', 'send_message', { text: 'by MCP' })).toMatchObject({ ok: true });
  expect(await sent()).toHaveLength(2);
  // as if somebody else had asked for the task
  const theirs = 'whatsapp/somebody';
  await bench.db
    .insertInto('chats')
    .values({
      id: theirs,
      channel: 'whatsapp',
      address: '15550001111@s.whatsapp.net',
      workflow_id: `chat/${theirs}`,
      autonomy: 'cautious',
    })
    .execute();
  const inChat = (chat_id: string) =>
    bench.db.updateTable('tasks').set({ chat_id }).where('id', '=', opened.task.id).execute();
  await inChat(theirs);
  const elsewhere = { ok: false, text: expect.stringContaining('owner’s own chat') };
  expect(await call('send_message', { text: 'x', chat: 'other@g.us' }, 'two')).toMatchObject(elsewhere);
  const there = { prompt: 'look', schedule_type: 'interval', schedule_value: '60000', target_group_jid: 'other@g.us' };
  expect(await call('schedule_task', there, 'six')).toMatchObject(elsewhere);
  await inChat(opened.task.chat_id);
  expect(await call('send_message', { text: ' ' }, 'three')).toMatchObject({ ok: false });
  expect(await call('rm', {}, 'four')).toMatchObject({ ok: false, text: 'There is no tool rm.' });
  expect(await sent()).toHaveLength(2);
  const bad = { prompt: 'look', schedule_type: 'interval', schedule_value: 'soon' };
  expect(await call('schedule_task', bad, 'five')).toMatchObject({ ok: false, text: expect.stringContaining('soon') });
});

it('sees and changes the schedules of every chat from the owner’s own, after a yes, and from another chat only its own', async () => {
  const chats = [
    { id: 'whatsapp/fam', channel: 'whatsapp', address: '15550002222@s.whatsapp.net' },
    { id: 'whatsapp/sam', channel: 'whatsapp', address: '15550003333@s.whatsapp.net' },
  ] as const;
  for (const chat of chats)
    await bench.db
      .insertInto('chats')
      .values({ ...chat, workflow_id: `chat/${chat.id}`, autonomy: 'cautious' })
      .execute();
  for (const chatId of [opened.task.chat_id, 'whatsapp/fam']) {
    const fields = { id: `cron_${chatId}`, chatId, name: 'news', timeZone: 'UTC', enabled: true };
    const parsed = parseSchedule('0 9 * * *', 'UTC', new Date());
    if (!parsed.ok) throw new Error(parsed.error);
    await insertPrompt(bench.db, {
      ...fields,
      schedule: parsed.schedule,
      prompt: `news of ${chatId}`,
      isolated: undefined,
      sources: [],
    });
  }
  const listed = async () =>
    (await (await fetch(`http://127.0.0.1:${port}/nanoclaw/current_tasks.json`)).json()) as Array<{
      id: string;
      groupFolder: string;
    }>;
  const own = `cron_${opened.task.chat_id}`;
  expect((await listed()).map(({ id }) => id)).toEqual([own, 'cron_whatsapp/fam']);
  expect((await listed())[0]).toMatchObject({ groupFolder: 'demo', prompt: `news of ${opened.task.chat_id}` });
  expect((await call('list_tasks', {}, 'l1')).text).toContain(
    '[cron_whatsapp/fam] news of whatsapp/fam (cron: 0 9 * * *)',
  );
  let counter = 0;
  /** The call as the chat of the task gets it; nobody is here to carry it out. */
  const ordered = async (task_id: string) => {
    const left = new AbortController();
    const body = JSON.stringify({ name: 'cancel_task', args: { task_id }, key: `cancel ${++counter}` });
    const url = `http://127.0.0.1:${port}/nanoclaw/calls`;
    const answered = fetch(url, { method: 'POST', body, signal: left.signal }).catch(() => {});
    const { call: made, thread_id } = await until('the call is a turn', () =>
      bench.db
        .selectFrom('turns')
        .select(['call', 'thread_id'])
        .where('call', 'is not', null)
        .where('status', '=', 'in_progress')
        .executeTakeFirst(),
    );
    left.abort();
    await answered;
    await bench.db.updateTable('turns').set({ status: 'completed' }).where('call', 'is not', null).execute();
    return { ...made!, thread_id };
  };
  expect(await ordered('cron_whatsapp/fam')).toMatchObject({
    name: 'cron_delete',
    args: { cron: 'cron_whatsapp/fam', chat: expect.stringContaining('WhatsApp') },
  });
  expect((await ordered(own)).args).toEqual({ cron: own });
  await bench.db.updateTable('tasks').set({ chat_id: 'whatsapp/sam' }).where('id', '=', opened.task.id).execute();
  expect(await listed()).toEqual([]);
  expect((await ordered('cron_whatsapp/fam')).args).toEqual({ cron: 'cron_whatsapp/fam' });
  await bench.db.deleteFrom('crons').execute();
});

it('has what its chat has of a browser, by command lines, until its task is over', async () => {
  const browse = async (...argv: string[]) => {
    const body = argv.map((each) => `${each}\0`).join('');
    const answered = await fetch(`http://127.0.0.1:${port}/nanoclaw/browser`, { method: 'POST', body });
    return { status: answered.status, text: await answered.text() };
  };
  expect(await browse('eval', 'document.cookie')).toMatchObject({
    status: 422,
    text: expect.stringMatching(/^agent-browser works/),
  });
  expect(await browse('open', 'file:///etc/passwd')).toMatchObject({
    status: 422,
    text: expect.stringContaining('http'),
  });
  const { thread_id: id } = opened.task;
  await bench.db.updateTable('threads').set({ mode: 'plan' }).where('id', '=', id).execute();
  expect((await browse('open', 'localhost:3000')).text).toContain('plans and changes nothing');
  await bench.db.updateTable('threads').set({ mode: 'agent' }).where('id', '=', id).execute();
  // this process has no browsers; looking begins no turn
  expect((await browse('snapshot')).status).toBe(422);
  const turns = await bench.db.selectFrom('turns').select('id').where('status', '=', 'in_progress').execute();
  expect(turns).toEqual([]);
  await bench.db.updateTable('tasks').set({ state: 'completed', ended_at: new Date() }).execute();
  expect(await browse('snapshot')).toEqual({ status: 422, text: 'The task is over.\n' });
});

it('is told of groups and schedules by the files of the protocol, and of no other file', async () => {
  const file = (name: string) => fetch(`http://127.0.0.1:${port}/nanoclaw/${name}`);
  expect(await (await file('current_tasks.json')).json()).toEqual([]);
  expect(await (await file('available_groups.json')).json()).toMatchObject({ groups: [] });
  expect((await file('other.json')).status).toBe(404);
  await bench.db.updateTable('tasks').set({ state: 'completed', ended_at: new Date() }).execute();
  expect((await file('current_tasks.json')).status).toBe(404);
  expect(await call('send_message', { text: 'late' }, 'late')).toMatchObject({ ok: false, text: 'The task is over.' });
});
