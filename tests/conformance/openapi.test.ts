import { afterAll, beforeAll, expect, it } from 'vitest';
import { runtimeEndpoints } from '../../src/api/runtime-api.ts';
import { statusEndpoints } from '../../src/api/status/status-api.ts';
import type { ThreadRecord, TurnRecord } from '../../src/contracts/records.ts';
import { noteGroup } from '../../src/store/chats/groups.ts';
import { noteFound } from '../../src/store/owner/extensions.ts';
import { saidTurn } from '../support/said.ts';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

const TOKEN = 'tok-openapi';
const ADMIN = 'admin-openapi';
let api: ApiStack;
beforeAll(async () => {
  api = await startApi({ token: TOKEN, adminToken: ADMIN, model: 'm', corsOrigins: '' });
}, 120_000);
afterAll(() => api?.close());

const ask = (port: number, token: string | null, method: string, path: string, body?: object) =>
  send(
    port,
    method,
    path,
    { ...(token && { Authorization: `Bearer ${token}` }), ...(body && { 'Content-Type': 'application/json' }) },
    body ? JSON.stringify(body) : null,
  );

/** A path whatever its parameters are called. */
const namesOf = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');

/** Asks an endpoint, and sees that its answer has exactly what its declaration says. */
async function answered<T>(endpoint: string, values: Record<string, string> = {}, body?: object): Promise<T> {
  const [method, path] = endpoint.split(' ') as [string, string];
  const runtime = runtimeEndpoints.find(
    (each) => each.method === method && namesOf(each.path) === namesOf(path.split('?')[0]!),
  );
  const { answer } =
    runtime ??
    statusEndpoints.find((each) => each.method === method && namesOf(each.path) === namesOf(path.split('?')[0]!))!;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]!);
  const { status, body: text } = await ask(
    runtime ? api.port : api.statusPort,
    runtime ? TOKEN : ADMIN,
    method,
    filled,
    body,
  );
  const value = JSON.parse(text) as T;
  expect([status, answer.schema!.parse(value)]).toEqual([answer.status ?? 200, value]);
  return value;
}

it('is there for holders of the token, and on the status API for everybody', async () => {
  expect((await ask(api.port, null, 'GET', '/openapi.json')).status).toBe(401);
  for (const [port, token, path] of [
    [api.port, TOKEN, '/v1/threads/{id}/turns'],
    [api.statusPort, null, '/api/status'],
  ] as const) {
    const { status, headers, body } = await ask(port, token, 'GET', '/openapi.json');
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(JSON.parse(body)).toMatchObject({ openapi: '3.1.0', info: { version: '0.0.0' }, paths: { [path]: {} } });
  }
});

it('says what the runtime API answers', async () => {
  await answered('GET /health');
  await answered('GET /v1/runtime/info');
  const { id } = await answered<ThreadRecord>('POST /v1/threads', {}, { system_prompt: 'Be brief.', task_id: 'tsk_1' });
  const { turn } = await answered<{ turn: TurnRecord }>('POST /v1/threads/{id}/turns', { id }, { prompt: 'work' });
  const values = { id, turn_id: turn.id };
  await answered('PATCH /v1/threads/{id}', values, { title: 'Work' });
  await answered('POST /v1/threads/{id}/turns/{turn_id}/steer', values, { prompt: 'faster' });
  await answered('POST /v1/threads/{id}/messages', values, { text: 'and better' });
  await answered('POST /v1/threads/{id}/turns/{turn_id}/interrupt', values);
  await answered('GET /v1/threads?limit=5&include_archived=true');
  await answered('GET /v1/threads/{id}?last_turns=1', values);
  await answered('GET /v1/threads/summary?limit=5&search=work');
  await answered('POST /v1/threads/{id}/resume', values);
  const fork = await answered<ThreadRecord>('POST /v1/threads/{id}/fork', values);
  await answered('POST /v1/threads/{id}/compact', { id: fork.id }, { reason: 'enough' });
  const { id: said } = await answered<ThreadRecord>('POST /v1/threads', {}, {});
  await saidTurn(api.store.db, said, 'hello', 'hi');
  const { sessions } = await answered<{ sessions: Array<{ id: string }> }>('GET /v1/sessions?limit=5');
  const session = { id: sessions[0]!.id };
  await answered('POST /v1/sessions', {}, { thread_id: session.id, title: 'Kept' });
  await answered('GET /v1/sessions/{id}', session);
  await answered('POST /v1/sessions/{id}/resume-thread', session, {});
  await answered('GET /v1/threads/running');
  await answered('POST /v1/threads/{id}/undo', { id: said }, {});
  await answered('POST /v1/threads/{id}/patch-undo', { id: said }, { depth: 0 });
  await answered('POST /v1/threads/{id}/retry', { id: said }, { prompt: 'again' });
  await answered('GET /v1/console');
  await answered('GET /v1/usage?group_by=model');
  await answered('GET /v1/workspace/status');
  await noteFound(api.store.db, {
    kind: 'skill',
    name: 'demo',
    description: 'A skill',
    body: 'Do it.',
    files: [],
    tools: [],
  });
  await answered('GET /v1/skills');
  await answered('POST /v1/skills/{name}', { name: 'demo' }, { enabled: false });
  await answered('GET /v1/apps/mcp/servers');
  await answered('GET /v1/apps/mcp/tools?server=demo');
  const task = await answered<{ id: string }>('POST /v1/tasks', {}, { prompt: 'work' });
  await answered('GET /v1/tasks?limit=5');
  await answered('GET /v1/tasks/{id}', task);
  await answered('POST /v1/tasks/{id}/cancel', task);
  const rule = { name: 'Daily', prompt: 'work', rrule: 'FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0', cwds: ['/tmp'] };
  const automation = await answered<{ id: string }>('POST /v1/automations', {}, rule);
  await answered('GET /v1/automations');
  await answered('GET /v1/automations/{id}', automation);
  await answered('POST /v1/automations/{id}/run', automation);
  await answered('GET /v1/automations/{id}/runs?limit=5', automation);
  for (const path of ['pause', 'resume']) await answered(`POST /v1/automations/{id}/${path}`, automation);
  await answered('PATCH /v1/automations/{id}', automation, { rrule: 'FREQ=HOURLY' });
  await answered('DELETE /v1/automations/{id}', automation);
  await answered('GET /v1/snapshots?limit=5');
  const shipping = await answered<ThreadRecord>('POST /v1/threads', {}, {});
  await answered('POST /v1/threads/{id}/ship', { id: shipping.id }, { action: 'status' });
});

it('says what the owner is answered', async () => {
  const { id } = await answered<ThreadRecord>('POST /v1/threads', {}, {});
  await answered('POST /v1/threads/{id}/turns', { id }, { prompt: 'work' });
  await answered('GET /v1/owner/now');
  await answered('POST /v1/owner/failures/{id}/seen', { id: 'turn_1' });
  await answered('GET /v1/owner/tasks?limit=5&state=live');
  await answered('GET /v1/owner/workspaces');
  await answered('POST /v1/owner/schedules', {}, { text: 'remind me to stretch in 20 minutes' });
  await answered('GET /v1/owner/schedules');
  await answered('POST /v1/owner/schedules/preview', {}, { text: '*/5 * * * *' });
  await answered('GET /v1/owner/spend?days=2');
  await answered('GET /v1/owner/settings');
  await answered('PATCH /v1/owner/settings', {}, { settings: { FETCH_MAX_DAY_USD: '9' } });
  await answered(
    'POST /v1/owner/settings/model/check',
    {},
    { base_url: 'http://127.0.0.1:1/v1', api_key: 'k', model: 'm' },
  );
  await answered('GET /v1/owner/chats');
  await answered('PATCH /v1/owner/chats/{id}', { id }, { autonomy: 'supervised' });
  await answered('POST /v1/owner/chats/{id}/ask-again', { id });
  await answered('POST /v1/owner/people', {}, { phone: '+49 170 1234567' });
  await answered('GET /v1/owner/people');
  await noteGroup(api.store.db, { channel: 'telegram', address: '-5', name: 'Choir', members: 5 });
  await answered('POST /v1/owner/groups', {}, { group: 'Choir', answered: false });
  await answered('DELETE /v1/owner/people/{id}', { id: '491701234567' });
  await answered('GET /v1/owner/push');
  await answered('GET /v1/owner/telegram');
  await answered('POST /v1/owner/telegram/pair');
  await answered('GET /v1/owner/whatsapp');
  for (const path of ['pair', 'stop', 'unlink']) await answered(`POST /v1/owner/whatsapp/${path}`);
  for (const path of ['agents', 'backups', 'logs?limit=3', 'temporal', 'doctor'])
    await answered(`GET /v1/owner/${path}`);
}, 120_000);

it('says what the status API answers', async () => {
  await answered('GET /api/status');
  await answered('GET /api/health');
  await answered('POST /api/whatsapp/start', {}, { number: 'shared' });
  await answered('GET /api/whatsapp');
  for (const path of ['restart', 'stop']) await answered(`POST /api/whatsapp/${path}`);
  await answered('POST /api/logout');
  const { id } = JSON.parse((await ask(api.port, TOKEN, 'POST', '/v1/threads', {})).body) as ThreadRecord;
  await answered('GET /api/sessions?limit=5');
  await answered('GET /api/sessions/{id}', { id });
  await answered('POST /api/sessions/{id}/clear', { id });
  await answered('DELETE /api/sessions/{id}', { id });
});

it('knows what answers without a JSON body, and that a turn which has not ended has no receipt', async () => {
  const { id } = await answered<ThreadRecord>('POST /v1/threads', {}, {});
  expect(await ask(api.port, TOKEN, 'DELETE', `/v1/sessions/${id}`)).toMatchObject({ status: 204, body: '' });
  expect(await ask(api.port, TOKEN, 'GET', `/v1/threads/${id}/turns/turn_1/receipt`)).toMatchObject({
    status: 404,
    body: expect.stringContaining('The turn turn_1 has no receipt'),
  });
  const { paths } = JSON.parse((await ask(api.port, TOKEN, 'GET', '/openapi.json')).body) as {
    paths: Record<string, Record<string, { responses: object }>>;
  };
  expect(paths['/v1/sessions/{id}']!.delete!.responses).toHaveProperty('204');
  expect(paths['/v1/stream']!.post!.responses).toMatchObject({ 200: { content: { 'text/event-stream': {} } } });
  expect(paths['/mcp']!.post!.responses).toMatchObject({
    200: { content: { 'text/event-stream': {}, 'application/json': {} } },
    202: {},
    401: {},
  });
});
