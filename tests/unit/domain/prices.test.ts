import { describe, expect, test } from 'vitest';
import { createMeter } from '../../../src/adapters/kennel/gate/model/meter.ts';
import { upstreamsOf } from '../../../src/adapters/kennel/gate/model/upstreams.ts';
import { isLocalEndpoint } from '../../../src/adapters/model/endpoint/endpoint.ts';
import { breachText, taskBreach, turnBreach } from '../../../src/domain/model/budgets.ts';
import {
  cacheSurcharge,
  costOf,
  DEAREST,
  listPrice,
  moneyText,
  priceBook,
  priceText,
  readPrices,
} from '../../../src/domain/model/price-book.ts';

const usage = { inputTokens: 1_000, outputTokens: 100, cachedTokens: 400 };
const remote = priceBook(undefined, { ours: true, local: false });
const local = priceBook(undefined, { ours: true, local: true });
const cost = (model: string, book = remote) => costOf([model], usage, book);

test('a model call costs its uncached input, its cached input and its output, in millionths of a dollar', () => {
  expect(cost('gpt-5-mini')).toEqual({ microUsd: 600 * 0.25 + 400 * 0.025 + 100 * 2, unpriced: 0 });
});

test('what is written to the cache costs a quarter more than a fresh token, and for an hour twice as much', () => {
  const written = { ...usage, surchargeTokens: cacheSurcharge(400, 100) };
  expect(costOf(['claude-sonnet-4.5'], written, remote).microUsd - cost('claude-sonnet-4.5').microUsd).toBe(
    400 * 0.25 * 3 + 100 * 3,
  );
});

test.each([
  ['openai/gpt-5-mini', 'gpt-5-mini'],
  ['gpt-5-mini-2025-08-07', 'gpt-5-mini'],
  ['GPT-5-Mini', 'gpt-5-mini'],
  ['models/gemini-3.5-flash', 'gemini-3.5-flash'],
  ['anthropic/claude-haiku-4.5', 'claude-haiku-4.5'],
  ['claude-haiku-4-5-20251001', 'claude-haiku-4.5'],
  ['claude-haiku-4-5@20251001', 'claude-haiku-4.5'],
  ['us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4.5'],
  ['openrouter/anthropic/claude-sonnet-4.5:thinking', 'claude-sonnet-4.5'],
])('%s costs what %s costs', (model, same) => {
  expect([listPrice(model), listPrice(model)]).toEqual([listPrice(same), expect.any(Array)]);
});

describe('a model whose price is not known', () => {
  const unknown = ['llama3.2:3b', 'gpt-5-mega', 'gpt-5.4-pro', 'o3-pro', 'practice', ''];

  test.each(unknown)('"%s" counts as the dearest one, and says so', (model) => {
    expect(listPrice(model)).toBeNull();
    const most = Math.ceil(600 * DEAREST[0] + 400 * DEAREST[1] + 100 * DEAREST[2]);
    expect(cost(model)).toEqual({ microUsd: most, unpriced: most });
    for (const known of ['gpt-5.5', 'claude-fable-5', 'kimi-k3'])
      expect(most).toBeGreaterThanOrEqual(cost(known).microUsd);
    expect(priceText([model], remote)).toMatch(/^price not known: budgets count \$10 in, \$50 out, .*under Settings/);
  });

  test('is free on a machine of one’s own, and without a charge where its name says so; both are told', () => {
    for (const free of [cost('llama3.2:3b', local), cost('meta-llama/llama-4:free')])
      expect(free).toEqual({ microUsd: 0, unpriced: 0 });
    expect(priceText(['llama3.2:3b'], local)).toMatch(/^no price known, so it counts as free/);
    expect(moneyText({ tokens: 5, microUsd: 0 })).toBe('no price known');
    // a proxy on this machine in front of a provider
    expect(cost('gpt-5-mini', local)).toEqual(cost('gpt-5-mini'));
  });

  test('goes by the name that was asked for where the answer names another, and by what the endpoint says that it cost', () => {
    expect(costOf(['fast-lane', 'gpt-5-mini'], usage, remote)).toEqual(cost('gpt-5-mini'));
    expect(costOf(['fast-lane'], { ...usage, usd: 0.000_123_4 }, remote)).toEqual({ microUsd: 124, unpriced: 0 });
    expect(costOf(['fast-lane'], { ...usage, usd: 0 }, remote).unpriced).toBeGreaterThan(0);
  });

  test('makes a budget of money say what it counts', () => {
    const limits = {
      maxSteps: 9,
      maxToolCalls: 9,
      maxTokens: 9e9,
      maxMicroUsd: 10_000,
      maxWallMs: 9e9,
      parallelTools: 1,
      maxHistoryEvents: 9,
    };
    const breach = turnBreach(limits, {
      steps: 1,
      toolCalls: 0,
      tokens: 1,
      microUsd: 10_500,
      unpriced: 10_500,
      wallMs: 0,
    })!;
    expect(breachText(breach)).toMatch(
      /: at most \$0\.01 of \$0\.01\. A model whose price is not known counts at the highest known price/,
    );
    const known = turnBreach(limits, { steps: 1, toolCalls: 0, tokens: 1, microUsd: 10_500, wallMs: 0 })!;
    expect(breachText(known)).not.toContain('price is not known');
    const task = taskBreach(
      { tokens: 9, microUsd: 5, dayTokens: 9, dayMicroUsd: 9 },
      { tokens: 1, microUsd: 6, unpriced: 1, today: { tokens: 1, microUsd: 6 } },
    );
    expect(breachText(task!)).toContain('whose price is not known');
    expect(moneyText({ tokens: 1, microUsd: 6, unpriced: 1 })).toMatch(/^at most \$0\.0000/);
  });
});

describe('a price that the person gives', () => {
  test('counts for every model of the endpoint of chats, one with a name wherever that model is', () => {
    const given = ' 0.5,2 ; Big-Model = 3,9,1 ';
    const ours = priceBook(given, { ours: true, local: false });
    const theirs = priceBook(given, { ours: false, local: false });
    expect([cost('gpt-5-mini', ours).microUsd, cost('x', ours).microUsd]).toEqual([700, 700]);
    for (const book of [ours, theirs])
      expect(cost('vendor/big-model', book)).toEqual({ microUsd: 600 * 3 + 400 + 100 * 9, unpriced: 0 });
    expect(cost('gpt-5-mini', theirs)).toEqual(cost('gpt-5-mini'));
    expect(cost('x', theirs).unpriced).toBeGreaterThan(0);
    expect(cost('x', priceBook('0,0', { ours: true, local: false }))).toEqual({ microUsd: 0, unpriced: 0 });
  });

  test.each(['free', '1', '1,2,3,4', '-1,2', '1,x', 'NaN,1', '1e3,1', 'model=', 'a=1,2;b', '999999,1'])(
    '"%s" is none, and an example is told',
    (text) => {
      expect(readPrices(text)).toMatch(/such as 0\.5,2 or some-model=0\.5,2,0\.05/);
    },
  );
});

test.each([
  ['http://127.0.0.1:11434/v1', true],
  ['http://[::1]:8080/v1', true],
  ['http://192.168.1.20:1234/v1', true],
  ['http://100.101.102.103/v1', true],
  ['http://ollama:11434/v1', true],
  ['http://host.docker.internal:11434/v1', true],
  ['http://studio.local/v1', true],
  ['https://api.openai.com/v1', false],
  ['https://8.8.8.8/v1', false],
  ['https://local.example.com/v1', false],
])('%s is an endpoint of one’s own: %s', (url, own) => {
  expect(isLocalEndpoint(url)).toBe(own);
});

test('calls of coding agents are counted in the same way, by the endpoint that answers', () => {
  const settings = {
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    ANTHROPIC_BASE_URL: 'https://api.anthropic.com',
    ANTHROPIC_API_KEY: 'k',
    GOOGLE_GEMINI_BASE_URL: 'http://10.0.0.9',
  };
  const upstreams = upstreamsOf({ ...settings, FETCH_MODEL_PRICE: 'mine=1,2' } as never);
  const used = (protocol: keyof typeof upstreams, model: string) => {
    const to = upstreams[protocol];
    if ('why' in to) throw new Error(to.why);
    const meter = createMeter({
      wire: 'chat',
      contentType: 'application/json',
      model,
      requestBytes: 3,
      prices: to.upstream.prices,
    });
    meter.feed(
      Buffer.from(JSON.stringify({ model, usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 150 } })),
    );
    return meter.finish();
  };
  expect(used('openai', 'any')).toMatchObject({ microUsd: 0, outputTokens: 50 });
  expect(used('openai', 'any')).not.toHaveProperty('unpriced');
  expect(used('anthropic', 'claude-next')).toMatchObject({
    microUsd: 100 * 10 + 50 * 50,
    unpriced: 100 * 10 + 50 * 50,
  });
  expect(used('anthropic', 'mine')).toMatchObject({ microUsd: 200 });
  expect(used('gemini', 'gemini-next')).toMatchObject({ microUsd: 0 });
});
