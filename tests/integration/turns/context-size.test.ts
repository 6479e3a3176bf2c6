import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { requestTokens } from '../../support/request-tokens.ts';

/**
 * An endpoint with a small context, which refuses a longer request with the bytes of llama.cpp, or cuts it like Ollama.
 */

let app: TestApp;
let server: Server;
let context = 4_096;
let cuts = false;
let refusesAll = false;
const asked: Array<{ tokens: number; tools: string[]; refused: boolean }> = [];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(404).end();
    // biome-ignore lint/suspicious/noExplicitAny: a request as it comes
    const body = (await json(request)) as any;
    const tools = (body.tools ?? []).map((each: { function: object }) => each.function);
    const tokens = requestTokens(body.messages, tools);
    const refused = refusesAll || tokens > context;
    asked.push({ tokens, tools: tools.map(({ name }: { name: string }) => name), refused });
    if (refused && !cuts) {
      const message = `the request exceeds the available context size (${context} tokens), try increasing it`;
      response.writeHead(400, { 'content-type': 'application/json' });
      return void response.end(
        JSON.stringify({
          error: { code: 400, message, type: 'exceed_context_size_error', n_prompt_tokens: tokens, n_ctx: context },
        }),
      );
    }
    const usage = {
      prompt_tokens: Math.min(tokens, context),
      completion_tokens: 3,
      total_tokens: Math.min(tokens, context) + 3,
    };
    const part = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason: finish }], usage })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${part({ role: 'assistant', content: 'Fine.' }, null)}${part({}, 'stop')}data: [DONE]\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  app = await startTestApp({ OPENAI_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
}, 120_000);
afterAll(async () => {
  await app?.close();
  server?.close();
});

const ask = async (thread: string, text: string) => (await app.ended(thread, await app.turn(thread, text))).status;

it('a fresh chat on a model of 4,096 tokens is answered at the first request', async () => {
  expect(await ask(await app.thread({ allow_shell: true }), 'Hello')).toBe('completed');
  expect(asked).toMatchObject([{ refused: false }]);
});

it('an answer to a part of the request is taken for a refusal: the turn asks again with a request that fits', async () => {
  asked.length = 0;
  [context, cuts] = [8_192, true];
  // a model of its own: what is learned of one is not used for another
  const thread = await app.thread({ allow_shell: true, model: 'a-model-that-cuts' });
  expect(await ask(thread, 'The tests of the parser fail on long lines. '.repeat(1_000))).toBe('completed');
  expect(asked.map(({ refused }) => refused)).toEqual([true, false]);
  [context, cuts] = [4_096, false];
});

it('the size that a refusal names is kept, and the next requests are made for it', async () => {
  asked.length = 0;
  const thread = await app.thread({ allow_shell: true });
  const words = 'Look at my pull requests, take a screenshot every morning, run the tests, cancel the task.';
  expect(await ask(thread, words)).toBe('completed');
  expect(asked.map(({ refused }) => refused)).toEqual([true, false]);
  expect(asked[1]!.tools).toEqual(expect.arrayContaining(['ask_user', 'open_tools', 'file_read']));
  const facts = await app.store.db
    .selectFrom('model_facts')
    .select('facts')
    .where('model', '!=', 'a-model-that-cuts')
    .executeTakeFirstOrThrow();
  expect(facts.facts).toMatchObject({ contextTokens: 4_096 });
  asked.length = 0;
  for (const word of ['And now?', 'And then?']) expect(await ask(thread, word)).toBe('completed');
  expect(asked.map(({ refused }) => refused)).toEqual([false, false]);
});

it('where no request fits, the person is told both sizes and the setting', async () => {
  [context, refusesAll] = [1_100, true];
  const thread = await app.thread({ allow_shell: true });
  const turn = await app.ended(thread, await app.turn(thread, 'Hello'));
  expect(turn.status).toBe('failed');
  expect(turn.error).toMatch(
    /it has 1,100 tokens, and this request needs (about [\d,]+ tokens|more)\. Start llama\.cpp with a larger `-c`/,
  );
});
