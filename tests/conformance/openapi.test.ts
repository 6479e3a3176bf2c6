import { afterAll, beforeAll, expect, it } from 'vitest';
import { runtimeEndpoints } from '../../src/api/runtime/runtime-api.ts';
import { statusEndpoints } from '../../src/api/status/status-api.ts';
import type { ThreadRecord, TurnRecord } from '../../src/contracts/records.ts';
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

/** Asks an endpoint, and sees that its answer has exactly what its declaration says. */
async function answered<T>(endpoint: string, values: Record<string, string> = {}, body?: object): Promise<T> {
  const [method, path] = endpoint.split(' ') as [string, string];
  const runtime = runtimeEndpoints.find((each) => each.method === method && each.path === path.split('?')[0]);
  const { answer } = runtime ?? statusEndpoints.find((each) => each.method === method && each.path === path.split('?')[0])!;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]!);
  const { status, body: text } = await ask(runtime ? api.port : api.statusPort, runtime ? TOKEN : ADMIN, method, filled, body);
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
  await answered('GET /v1/console');
  await answered('GET /v1/usage?group_by=model');
  await answered('GET /v1/workspace/status');
  await answered('GET /v1/skills');
  await answered('GET /v1/apps/mcp/servers');
  await answered('GET /v1/apps/mcp/tools?server=demo');
});

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
