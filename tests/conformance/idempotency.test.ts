import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detail } from '../support/app.ts';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

const TOKEN = 'tok-keys';
let api: ApiStack;
beforeAll(async () => {
  api = await startApi({ token: TOKEN, model: 'm', corsOrigins: '' });
}, 120_000);
afterAll(() => api?.close());

const ask = async (path: string, key: string, body: unknown = {}) => {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', 'Idempotency-Key': key };
  const answer = await send(api.port, 'POST', path, headers, JSON.stringify(body));
  return { status: answer.status, body: JSON.parse(answer.body) };
};
const detail = async (thread: string): Promise<Detail> =>
  JSON.parse((await send(api.port, 'GET', `/v1/threads/${thread}`, { Authorization: `Bearer ${TOKEN}` })).body);
const newThread = async (): Promise<string> => (await ask('/v1/threads', crypto.randomUUID())).body.id;

describe('an idempotency key', () => {
  it('gives the same thread, also to requests that come at once', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => ask('/v1/threads', 'one-thread', { model: 'a' })));
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1);
    expect((await ask('/v1/threads', 'another-thread', { model: 'a' })).body.id).not.toBe(made[0]!.body.id);
  });

  it('may stand in the body, also in one that is ignored otherwise', async () => {
    const post = async (path: string, body: unknown) => {
      const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
      const { status, body: text } = await send(api.port, 'POST', path, headers, JSON.stringify(body));
      return { status, text, id: status < 300 ? (JSON.parse(text) as { id: string }).id : null };
    };
    const { id } = await post('/v1/threads', { model: 'a', operation_key: 'in-body' });
    expect((await ask('/v1/threads', 'in-body', { model: 'a' })).body.id).toBe(id);
    expect((await post('/v1/threads', { model: 'b', operation_key: 'in-body' })).status).toBe(422);
    const fork = await post(`/v1/threads/${id}/fork`, { operation_key: 'fork\0\ud800' });
    expect((await post(`/v1/threads/${id}/fork`, { operation_key: 'fork\0\ud800' })).id).toBe(fork.id);
    expect(await post('/v1/threads', { operation_key: 7 })).toMatchObject({
      status: 422,
      text: expect.stringContaining('operation_key'),
    });
    expect((await post('/v1/threads', { operation_key: 'x'.repeat(201) })).status).toBe(400);
  });

  it('gives the same turn, and names another request under another operation', async () => {
    const thread = await newThread();
    const turns = `/v1/threads/${thread}/turns`;
    const { turn } = (await ask(turns, 'k', { prompt: 'hello' })).body;
    expect((await ask(turns, 'k', { prompt: 'hello' })).body.turn.id).toBe(turn.id);
    expect((await ask(`${turns}/${turn.id}/steer`, 'k', { prompt: 'and more' })).body.steer_count).toBe(1);
    expect((await ask(`${turns}/${turn.id}/steer`, 'k', { prompt: 'and more' })).body.steer_count).toBe(1);
    expect((await ask(`/v1/threads/${thread}/messages`, 'k', { text: 'a third thing' })).body).toMatchObject({
      kind: 'steer',
      turn_id: turn.id,
    });
    expect((await ask(`${turns}/${turn.id}/interrupt`, 'k')).status).toBe(200);
    const { turns: all, items } = await detail(thread);
    expect(all.map(({ id }) => id)).toEqual([turn.id]);
    expect(items.map(({ detail }) => detail)).toEqual(['hello', 'and more', 'a third thing']);
    const stops = await api.store.db
      .selectFrom('events')
      .select('event')
      .where('thread_id', '=', thread)
      .where('event', '=', 'turn.interrupt_requested')
      .execute();
    expect(stops).toHaveLength(1);
  });

  it('is refused with another body: neither request is taken for the other', async () => {
    const thread = await newThread();
    const turns = `/v1/threads/${thread}/turns`;
    await ask(turns, 'k', { prompt: 'hello' });
    const again = await ask(turns, 'k', { prompt: 'delete it' });
    expect(again).toMatchObject({
      status: 422,
      body: { error: { status: 422, message: expect.stringContaining('another body') } },
    });
    expect((await ask('/v1/threads', 'mine', { model: 'a' })).status).toBe(201);
    expect((await ask('/v1/threads', 'mine', { model: 'b' })).status).toBe(422);
    expect((await detail(thread)).items).toHaveLength(1);
  });

  it('does not mind the order in which a body is written', async () => {
    const thread = await newThread();
    const turns = `/v1/threads/${thread}/turns`;
    const first = await ask(turns, 'k', { prompt: 'hello', model: 'a' });
    expect((await ask(turns, 'k', { model: 'a', prompt: 'hello' })).body.turn.id).toBe(first.body.turn.id);
  });

  it('of the version before still names its turn', async () => {
    const thread = await newThread();
    const { turn } = (await ask(`/v1/threads/${thread}/turns`, 'k', { prompt: 'hello' })).body;
    await sql`update inbox set channel_message_id = 'k', fingerprint = null where thread_id = ${thread}`.execute(
      api.store.db,
    );
    expect((await ask(`/v1/threads/${thread}/turns`, 'k', { prompt: 'hello' })).body.turn.id).toBe(turn.id);
    expect((await ask(`/v1/threads/${thread}/turns/${turn.id}/interrupt`, 'k')).status).toBe(200);
  });
});
