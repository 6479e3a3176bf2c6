import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { type SharedApp, useSharedApp } from '../../support/shared-app.ts';

let app: SharedApp;
/** requests of the model so far, as it got them */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any part of a request
let asked: any[] = [];
useSharedApp((shared) => {
  app = shared;
  app.model.hear((body) => asked.push(JSON.parse(body)));
});

type Call = [name: string, args: object];

/** A turn in which the model makes the same calls for ever. */
async function turnOf(
  calls: (step: number) => Call[],
  steps = 24,
): Promise<{ thread: string; turn: string; status: string; said: string }> {
  const thread = await app.thread();
  asked = [];
  const turn = await app.turn(thread, [
    ...Array.from({ length: steps }, (_, step) => ({ call: calls(step) })),
    { say: 'the script is over' },
  ]);
  const { status } = await app.ended(thread, turn);
  const told = await app.store.db.selectFrom('outbox').select('body').where('turn_id', '=', turn).execute();
  return { thread, turn, status, said: told.map(({ body }) => body).join('\n') };
}

const stepsOf = async (turn: string): Promise<number> =>
  Number(
    (
      await app.store.db
        .selectFrom('steps')
        .select((e) => e.fn.countAll().as('n'))
        .where('turn_id', '=', turn)
        .executeTakeFirstOrThrow()
    ).n,
  );

/** By request: whether it tells the model that it repeats itself. */
const told = (): boolean[] =>
  asked.map(({ messages }) =>
    messages.some(
      ({ role, content }: { role: string; content: string }) => role === 'tool' && /times in a row/.test(content),
    ),
  );

it('a call that brings the same again is told to the model at the third time, and ends the turn with an answer at the sixth', async () => {
  const { thread, turn, status, said } = await turnOf(() => [['workflow_list', {}]]);
  expect(status).toBe('completed');
  expect(said).toMatch(/the same action gave the same result 6 times in a row/);
  expect(said).not.toMatch(/FETCH_|workflow_list|\{/);
  expect(told()).toEqual([false, false, false, true, true, true, true]);
  // the last request offers no tools
  expect(asked.map(({ tools }) => (tools ?? []).length > 0)).toEqual([true, true, true, true, true, true, false]);
  expect(await stepsOf(turn)).toBe(7);
  const { items } = await app.detail(thread);
  expect(items.at(-1)).toMatchObject({
    kind: 'status',
    status: 'completed',
    detail: expect.stringMatching(/^I stopped here/),
  });
  // nothing empty is remembered
  const remembered = await app.store.db
    .selectFrom('transcript')
    .select('content')
    .where('thread_id', '=', thread)
    .where('call_ids', '=', '[]' as never)
    .execute();
  for (const { content } of remembered) expect(content.trim()).not.toBe('');
});

it('two calls in turn are a loop as well', async () => {
  const { status, said, turn } = await turnOf((step) => [step % 2 === 0 ? ['workflow_list', {}] : ['cron_list', {}]]);
  expect(status).toBe('completed');
  expect(said).toMatch(/6 times in a row/);
  expect(told().indexOf(true)).toBe(5);
  expect(await stepsOf(turn)).toBe(12);
});

it('different arguments that show the same are a loop, and so are calls that are refused in the same words', async () => {
  const shown = await turnOf((step) => [['workflow_list', { runLimit: step + 1 }]]);
  expect([shown.status, await stepsOf(shown.turn)]).toEqual(['completed', 7]);
  const refused = await turnOf((step) => [['file_read', { pfad: `${step}.txt` }]]);
  expect([refused.status, await stepsOf(refused.turn)]).toEqual(['completed', 7]);
});

it('an address that refuses each time is a loop, also with a new number on each page and in each address', async () => {
  let requests = 0;
  const server = createServer((_, answer) => {
    answer.writeHead(429, { 'content-type': 'text/plain', 'retry-after': '60' });
    answer.end(`Too many requests. Reference ${++requests}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const address of [() => url, (step: number) => `${url}page/${step}?t=${step}`]) {
    requests = 0;
    const { status, turn } = await turnOf((step) => [['web_fetch', { url: address(step) }]]);
    expect([status, await stepsOf(turn), requests]).toEqual(['completed', 7, 6]);
  }
  server.close();
});

it('equal calls in one step count once, and what is told to the person again and again is no loop', async () => {
  const parallel = await turnOf(() => Array.from({ length: 6 }, (): Call => ['workflow_list', {}]), 2);
  expect([parallel.status, parallel.said, told()]).toEqual(['completed', 'the script is over', [false, false, false]]);
  const reports = await turnOf((step) => [['report_progress', { message: `part ${step}` }]], 8);
  expect([reports.status, reports.said]).toEqual(['completed', expect.stringMatching(/the script is over$/)]);
});

it('the next message of the person begins anew', async () => {
  const { thread } = await turnOf(() => [['workflow_list', {}]]);
  const next = await app.turn(thread, [{ call: [['workflow_list', {}]] }, { say: 'fine' }]);
  await app.ended(thread, next);
  expect((await app.detail(thread)).items.at(-1)).toMatchObject({ kind: 'agent_message', detail: 'fine' });
});
