import { expect, test } from 'vitest';
import { microUsd } from '../../src/domain/prices.ts';

const usage = { inputTokens: 1_000, outputTokens: 100, cachedTokens: 400 };

test('a model call costs its uncached input, its cached input and its output, in millionths of a dollar', () => {
  expect(microUsd('gpt-5-mini', usage)).toBe(600 * 0.25 + 400 * 0.025 + 100 * 2);
});

test.each([
  ['openai/gpt-5-mini', 'gpt-5-mini'],
  ['gpt-5-mini-2025-08-07', 'gpt-5-mini'],
  ['anthropic/claude-haiku-4.5', 'claude-haiku-4.5'],
  ['claude-haiku-4-5-20251001', 'claude-haiku-4.5'],
  ['openrouter/anthropic/claude-sonnet-4.5:thinking', 'claude-sonnet-4.5'],
])('%s costs what %s costs', (model, same) => {
  expect(microUsd(model, usage)).toBe(microUsd(same, usage));
  expect(microUsd(model, usage)).toBeGreaterThan(0);
});

test.each(['llama3.2:3b', 'gpt-5-mega', 'gpt-5.4-pro', ''])('the price of "%s" is unknown, not guessed', (model) => {
  expect(microUsd(model, usage)).toBeNull();
});

test('practice and free models cost nothing', () => {
  expect(microUsd('practice', usage)).toBe(0);
  expect(microUsd('meta-llama/llama-4:free', usage)).toBe(0);
});

test('a fraction of a micro-dollar is rounded up, and more cached tokens than input tokens are not a refund', () => {
  expect(microUsd('gpt-4o-mini', { inputTokens: 1, outputTokens: 0 })).toBe(1);
  expect(microUsd('gpt-4o-mini', { inputTokens: 10, outputTokens: 0, cachedTokens: 99 })).toBe(1);
});
