import { afterEach, expect, it } from 'vitest';
import type { ModelSettings } from '../../../src/adapters/model/endpoint/endpoint.ts';
import { followModel } from '../../../src/adapters/model/endpoint/open-model.ts';
import { until } from '../../support/until.ts';

const closes: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const close of closes.splice(0)) await close();
});

async function followed(settings: Partial<ModelSettings>) {
  const given = settings as ModelSettings;
  const current = await followModel(given);
  closes.push(() => current.close());
  return { given: given as { -readonly [Name in keyof ModelSettings]: ModelSettings[Name] }, current };
}

it('another model answers within seconds after its settings changed, and a step under way keeps the one that it has', async () => {
  const { given, current } = await followed({});
  const before = current.model;
  expect(before.kind).toBe('practice');
  given.OPENAI_API_KEY = 'sk-one';
  await until('the key is used', () => current.model.kind === 'openai', 5_000);
  given.OPENAI_BASE_URL = 'http://127.0.0.1:9/v1';
  given.AGENT_MODEL = 'mine';
  await until('the endpoint is used', () => current.model.baseUrl === 'http://127.0.0.1:9/v1', 5_000);
  expect([current.model.name, current.model.kind, before.kind]).toEqual(['mine', 'custom', 'practice']);
});

it('the price of a model changes with its setting', async () => {
  const { given, current } = await followed({ OPENAI_API_KEY: 'sk-one', AGENT_MODEL: 'mine' });
  const { prices } = current.model;
  given.FETCH_MODEL_PRICE = 'mine=1,2';
  await until('the price is used', () => current.model.prices !== prices, 5_000);
});
