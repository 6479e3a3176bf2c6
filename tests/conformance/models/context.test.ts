import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, onTestFinished, test } from 'vitest';
import { verifyModel } from '../../../src/adapters/model/endpoint/discover.ts';
import type { FactsStore } from '../../../src/adapters/model/endpoint/facts.ts';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { ModelMessage, ModelTool } from '../../../src/adapters/model/model.ts';
import { silentCut } from '../../../src/adapters/model/request/silent-cut.ts';
import { budgetWithin, contextIn } from '../../../src/domain/model/context-size.ts';
import { offeredTools } from '../../../src/tools/offer.ts';
import { requestTokens } from '../../support/request-tokens.ts';
import { calls, chunk, DONE, type ScriptedAnswer, says, startEndpoint, streamed } from './endpoint.ts';

/** What endpoints tell of the size of a context, and how they cut a request without a word. */

async function modelOf(pages: Record<string, object>, answers: ScriptedAnswer[] = [], facts?: FactsStore, name = 'm') {
  const endpoint = await startEndpoint({ pages, answers });
  onTestFinished(() => endpoint.close());
  return openaiModel({ kind: 'custom', baseUrl: endpoint.baseUrl, name, facts });
}
const listing = (...data: object[]) => ({ '/v1/models': { object: 'list', data } });
const stored = (contextTokens: number): FactsStore => ({
  read: async () => new Map([['m', { contextTokens }]]),
  add: async () => {},
});

describe('the size of a context', () => {
  test.each<[string, Record<string, object>, number]>([
    ['OpenRouter', listing({ id: 'm', context_length: 200_000, top_provider: { context_length: 131_072 } }), 131_072],
    ['vLLM', listing({ id: 'm', max_model_len: 16_384 }), 16_384],
    ['Groq', listing({ id: 'm', context_window: 131_072 }), 131_072],
    ['Mistral', listing({ id: 'm', max_context_length: 32_768 }), 32_768],
    ['llama.cpp', listing({ id: 'm', meta: { n_ctx_train: 32_768, n_ctx: 8_192 } }), 8_192],
    [
      'older llama.cpp',
      {
        ...listing({ id: 'm', meta: { n_ctx_train: 32_768 } }),
        '/props': { default_generation_settings: { n_ctx: 8_192 } },
      },
      8_192,
    ],
    ['a llama.cpp that has it under another name', listing({ id: '/models/qwen.gguf', meta: { n_ctx: 8_192 } }), 8_192],
    [
      'LM Studio',
      {
        ...listing({ id: 'm' }),
        '/api/v0/models': { data: [{ id: 'm', max_context_length: 131_072, loaded_context_length: 4_096 }] },
      },
      4_096,
    ],
    [
      'Ollama',
      {
        ...listing({ id: 'm:latest' }),
        '/api/ps': { models: [{ name: 'm:latest', model: 'm:latest', context_length: 4_096 }] },
      },
      4_096,
    ],
  ])('that %s tells is known before the first request', async (_, pages, size) => {
    const model = await modelOf(pages);
    expect(await model.facts('m')).toEqual({ contextTokens: size });
  });

  test('is of the model that is asked, and is not known where nothing sensible is told', async () => {
    const model = await modelOf(
      listing({ id: 'm', context_length: 8_192 }, { id: 'n', context_length: 0 }, { id: 'o', context_length: '9000' }),
    );
    expect(
      await Promise.all(['m', 'n', 'o', 'p'].map(async (name) => (await model.facts(name)).contextTokens)),
    ).toEqual([8_192, undefined, undefined, undefined]);
    expect(await (await modelOf({})).facts('m')).toEqual({});
  });

  test('that a refusal taught counts when it is smaller than what the model has at most', async () => {
    const model = await modelOf(listing({ id: 'm', context_length: 131_072 }), [], stored(8_192));
    expect(await model.facts('m')).toEqual({ contextTokens: 8_192 });
    await model.learn('m', { contextTokens: 6_144 });
    expect(await model.facts('m')).toEqual({ contextTokens: 6_144 });
  });

  test('that the server runs with now counts more than what it taught before it was started anew', async () => {
    const model = await modelOf(listing({ id: 'm', max_model_len: 16_384 }), [], stored(4_096));
    expect(await model.facts('m')).toEqual({ contextTokens: 16_384 });
    await model.learn('m', { contextTokens: 12_288 });
    expect(await model.facts('m')).toEqual({ contextTokens: 12_288 });
  });
});

test('the test of a model shows the size to a person', async () => {
  const endpoint = await startEndpoint({
    pages: listing({ id: 'm', max_model_len: 16_384 }),
    answers: [calls(['get_word', {}]), says('ready')],
  });
  onTestFinished(() => endpoint.close());
  expect(await verifyModel({ OPENAI_BASE_URL: endpoint.baseUrl, AGENT_MODEL: 'm' })).toMatchObject({
    learned: 'learned of this model: 16,384 tokens of context',
  });
});

describe('a request of which the endpoint read a part', () => {
  const words = 'The quick brown fox jumps over the lazy dog, and then it runs home. ';
  const tools: ModelTool[] = offeredTools(
    { access: { mode: 'agent', allowShell: true }, added: new Map(), opened: [] },
    { tools: 128, tokens: budgetWithin(8_192, 1e6).tools },
  );
  const thread: ModelMessage[] = [
    { role: 'system', content: words.repeat(20) },
    ...Array.from(
      { length: 20 },
      (_, n): ModelMessage => ({ role: n % 2 === 0 ? 'user' : 'assistant', content: `${n} ${words.repeat(30)}` }),
    ),
    { role: 'user', content: 'What did I say first?' },
  ];
  const told = (usage: object) =>
    streamed(chunk({ role: 'assistant', content: 'Nothing.' }), chunk({}, 'stop', { usage }), DONE);
  const ask = async (usage: object, pages = {}, messages = thread) =>
    (await modelOf(pages, [told(usage)])).complete({
      model: 'm',
      messages,
      tools,
      signal: new AbortController().signal,
      onDelta: () => {},
      requestId: 'r',
    });
  const error = async (...args: Parameters<typeof ask>) =>
    ask(...args).then(
      () => null,
      (thrown) => ({ type: thrown.type, size: contextIn(thrown.message) }),
    );
  const whole = requestTokens(thread, tools);
  const fixed = requestTokens([thread[0]!, thread.at(-1)!], tools);

  test.each([
    ['a full context', 4_096, 4_096],
    ['a full context but for a token', 4_095, 4_096],
    ['the system message, the tools and the newest messages', 3_600, 4_096],
  ])('is too long, and teaches the size: %s', async (_, prompt_tokens, size) => {
    expect(fixed).toBeLessThan(3_600);
    expect(whole).toBeGreaterThan(8_192);
    expect(await error({ prompt_tokens, completion_tokens: 5 })).toEqual({ type: 'ContextOverflow', size });
  });

  test('teaches the size that Ollama tells of the model in memory', async () => {
    expect(
      await error(
        { prompt_tokens: 4_900, completion_tokens: 5 },
        { '/api/ps': { models: [{ model: 'm', context_length: 5_000 }] } },
      ),
    ).toEqual({
      type: 'ContextOverflow',
      size: 5_000,
    });
  });

  test.each<[string, object, object?]>([
    ['the endpoint counts nothing', {}],
    ['the count is without what is cached', { prompt_tokens: 1_800, completion_tokens: 5 }],
    ['the count is of the last message alone', { prompt_tokens: 30, completion_tokens: 5 }],
    [
      'a part was cached, so it is counted apart',
      { prompt_tokens: 4_090, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 1_024 } },
    ],
    [
      'the server has a context that holds it',
      { prompt_tokens: 4_090, completion_tokens: 5 },
      { '/api/ps': { models: [{ model: 'm', context_length: 32_768 }] } },
    ],
    ['everything was read', { prompt_tokens: whole, completion_tokens: 5 }],
  ])('is not seen where %s', async (_, usage, pages) => {
    expect(await error(usage, pages)).toBeNull();
  });

  test('is never seen in a request that was read whole, whatever it says', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      fc.lorem({ maxCount: 30 }),
      fc.json(),
      fc.constantFrom('{"a": [', '\n\n\t ', '中文字符', '1234567890'),
    );
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 3_000 }),
        (parts, times) => {
          const content = parts.join(' ').repeat(times).slice(0, 60_000);
          const inputTokens = countTokens(content, { allowedSpecial: 'all' });
          const usage = { inputTokens, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 };
          expect(
            silentCut({ messages: [{ role: 'user', content }], tools: [] }, { usage, usageEstimated: false }),
          ).toBeNull();
        },
      ),
      { numRuns: 200 },
    );
  });
});
