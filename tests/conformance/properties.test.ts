import { request } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Asked, type Document, type Operation, requestsOf, type Schema } from '../support/openapi-requests.ts';
import { holds, PROPERTY_MS } from '../support/property.ts';

/**
 * Each endpoint of both ports, whatever it is: it answers in time, with a status and a body that its document names,
 * and never with a fault of its own. It takes no body that its document excludes, and refuses none for its shape that
 * fits it.
 */

const ADMIN = 'admin-properties';
/** An answer, or the head of one that goes on. */
const PATIENCE_MS = 10_000;
/** Requests for each operation, and the most of all: some ten seconds for a port. */
const RUNS = 25;
const MOST_RUNS = 900;

let app: TestApp;
let ids: Record<string, string[]>;
beforeAll(async () => {
  // tasks wait: what they do is for other tests
  app = await startTestApp({ ADMIN_TOKEN: ADMIN, DOCKER_HOST: 'tcp://127.0.0.1:9' });
  const thread = await app.thread();
  const turn = await app.turn(thread, [{ say: 'one' }]);
  await app.ended(thread, turn);
  const other = await app.thread();
  const waits = await app.turn(other, [
    { call: [['ask_user', { question: 'Which?', options: ['red', 'green'] }]] },
    { say: 'done' },
  ]);
  const made = async (path: string, body: object) =>
    ((await app.request('POST', path, body)).body as { id: string }).id;
  const rule = { name: 'Daily', prompt: 'work', rrule: 'FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0' };
  ids = {
    id: [thread, other, await made('/v1/tasks', { prompt: 'work' }), await made('/v1/automations', rule)],
    thread_id: [thread, other],
    turn_id: [turn, waits],
    group_by: ['day', 'model', 'provider', 'thread'],
    decision: ['allow', 'deny'],
  };
});
afterAll(() => app?.close());

interface Answered {
  status: number;
  type: string;
  body: string;
}

const lengthOf = (body: string | null) => (body === null ? {} : { 'Content-Length': String(Buffer.byteLength(body)) });

/** Of a stream, only the head. @throws when nothing comes */
const ask = (base: string, { method, path, headers, body }: Asked): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const outgoing = request(
      { hostname, port, method, path, headers: { ...headers, ...lengthOf(body) }, timeout: PATIENCE_MS },
      (incoming) => {
        const type = String(incoming.headers['content-type'] ?? '');
        const done = (text: string) => resolve({ status: incoming.statusCode!, type: type.split(';')[0]!, body: text });
        if (type.startsWith('text/event-stream')) {
          outgoing.destroy();
          return done('');
        }
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () => done(Buffer.concat(chunks).toString('utf8')));
        incoming.on('error', reject);
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer in ${PATIENCE_MS / 1000} s`)));
    outgoing.on('error', reject);
    outgoing.end(body ?? undefined);
  });

/** A path or a query that no endpoint has is refused before an endpoint is found. */
const ROUTING = new Set([404, 405]);

/** Other refusals of a body say what a value must be beyond its type. */
const BAD_SHAPE = /^Failed to deserialize the JSON body[^\n]*(?:invalid type|missing field)/;

function answersOf(document: Document): (operation: Operation, asked: Asked, answered: Answered) => string | null {
  const schemas = new Map<Schema, z.ZodType>();
  const $defs = JSON.parse(
    JSON.stringify(document.components.schemas).replaceAll('#/components/schemas/', '#/$defs/'),
  ) as Record<string, Schema>;
  const schemaOf = (schema: Schema): z.ZodType => {
    const own = JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')) as object;
    const made = schemas.get(schema) ?? z.fromJSONSchema({ ...own, $defs } as never);
    schemas.set(schema, made);
    return made;
  };
  /** null: it has no schema, or is no JSON */
  const fits = ({ requestBody }: Operation, { body, headers }: Asked): boolean | null => {
    const schema = requestBody?.content['application/json']?.schema;
    if (!schema || !body || headers['Content-Type'] !== 'application/json') return null;
    try {
      return schemaOf(schema).safeParse(JSON.parse(body)).success;
    } catch {
      return null;
    }
  };
  return (operation, asked, { status, type, body }) => {
    const fit = fits(operation, asked);
    if (fit === false && status < 400) return `a ${status} for a body that is not as documented: ${asked.body}`;
    if (fit === true && status === 422 && BAD_SHAPE.test(body)) return `a body that fits is refused: ${body}`;
    if (status >= 400 && !ROUTING.has(status) && body.trim() === '') return `a ${status} gives no reason`;
    const named = operation.responses[status];
    if (!named)
      return ROUTING.has(status) && body === ''
        ? null
        : `the status ${status} is not documented: ${body.slice(0, 200)}`;
    if (!named.content) return null;
    const content = named.content[type];
    if (!content) return `a ${status} of type "${type}" is not documented, only ${Object.keys(named.content)}`;
    if (type !== 'application/json' || !content.schema) return null;
    const { error } = schemaOf(content.schema).safeParse(JSON.parse(body));
    return error ? `a ${status} is not as documented: ${z.prettifyError(error)}\n${body.slice(0, 500)}` : null;
  };
}

it.each([
  ['the runtime API', () => app.baseUrl, 'test-token'],
  ['the status API', () => app.statusUrl, ADMIN],
] as const)(
  '%s answers whatever it is asked with what its document says, and in time',
  async (_what, base, token) => {
    const headers = { Authorization: `Bearer ${token}` };
    const document = (await (await fetch(`${base()}/openapi.json`, { headers })).json()) as Document;
    // after it nobody answers for a while: tests/integration/page/chats.test.ts presses its button
    delete document.paths['/v1/owner/restart'];
    const requests = requestsOf(document, headers, (name) => ids[name] ?? []);
    const misfit = answersOf(document);
    expect(requests.length).toBeGreaterThan(10);
    const reached = new Map<string, Set<number>>();
    const check = async (asked: Asked): Promise<void> => {
      const answered = await ask(base(), asked);
      const [method, path] = asked.operation.split(' ') as [string, string];
      reached.set(asked.operation, (reached.get(asked.operation) ?? new Set()).add(answered.status));
      expect(answered.status, `${asked.operation}: ${answered.body}`).toBeLessThan(500);
      expect(misfit(document.paths[path]![method.toLowerCase()]!, asked, answered), asked.operation).toBeNull();
    };
    // once each, whatever the seed
    for (const request of requests) for (const asked of fc.sample(request, { numRuns: 1, seed: 1 })) await check(asked);
    await holds(fc.asyncProperty(fc.oneof(...requests), check), {
      runs: Math.min(requests.length * RUNS, MOST_RUNS),
      soak: 20_000,
    });
    expect(reached.size).toBe(requests.length);
    // nearly all were reached, so the requests are not all refused at the door
    const fine = [...reached.values()].filter((statuses) => [...statuses].some((status) => status < 300)).length;
    expect(fine).toBeGreaterThan(requests.length / 2);
    expect((await fetch(`${base()}/openapi.json`, { headers })).status).toBe(200);
  },
  PROPERTY_MS,
);
