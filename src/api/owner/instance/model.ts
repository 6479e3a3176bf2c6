import { z } from 'zod';
import { endpointOf, type ModelSettings, PRACTICE } from '../../../adapters/model/endpoint/endpoint.ts';
import { shownValue } from '../../../adapters/settings-file.ts';
import type { Config } from '../../../config.ts';
import type { ModelCheck } from '../../../contracts/owner.ts';
import { factsIn } from '../../../store/turns/steps/model-facts.ts';
import { count, type Fields } from '../../http/endpoint.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';

const PATIENCE_MS = 30_000;
const MODELS_LISTED = 200;

export const checkModel = endpoint({
  method: 'POST',
  path: '/v1/owner/settings/model/check',
  summary: 'Ask the model one real question',
  body: z
    .object({
      api_key: z.string().trim().min(1).max(1_000).optional(),
      base_url: z
        .url({ protocol: /^https?$/ })
        .max(2_000)
        .optional()
        .describe('With another one, the key of now is not sent there: give the key, too'),
      model: z.string().trim().min(1).max(200).optional(),
    })
    .meta({ id: 'ModelCheckRequest', examples: [{}, { base_url: 'https://openrouter.ai/api/v1', api_key: 'sk-…' }] }),
  bodyOptional: true,
  answer: {
    schema: z
      .object({
        ok: z.boolean(),
        base_url: z.string(),
        model: z.string().nullable(),
        price: z.string().nullable(),
        learned: z.string().nullable(),
        models: z.array(z.string()),
        took_ms: count(),
        problem: z.string().nullable(),
      } satisfies Fields<ModelCheck>)
      .meta({ id: 'ModelCheck' }),
    what: 'What came of it. Nothing is stored.',
  },
  handle: async ({ body }, { config, store }) => {
    const asked = settingsFor(config, body);
    const at = endpointOf(asked);
    const base_url = shownValue('OPENAI_BASE_URL', at?.baseUrl) ?? '';
    const none = { ok: false, base_url, model: null, price: null, learned: null, models: [], took_ms: 0 };
    if (!at)
      return {
        ...none,
        problem:
          'No model is configured: the practice model answers. Give an api_key, and a base_url where it is not OpenAI.',
      };
    // the library of the models takes 4 MB, and few ask
    const { modelsOf, verifyModel } = await import('../../../adapters/model/endpoint/discover.ts');
    const began = Date.now();
    const env = asked as unknown as Record<string, string>;
    const [verified, models] = await Promise.all([
      verifyModel(env, PATIENCE_MS, factsIn(store.db)),
      modelsOf(env).catch(() => []),
    ]);
    const found = { base_url, models: models.slice(0, MODELS_LISTED), took_ms: Date.now() - began };
    if (!verified.ok)
      return {
        ...found,
        ok: false,
        model: asked.AGENT_MODEL ?? null,
        price: null,
        learned: null,
        problem: verified.error,
      };
    return {
      ...found,
      ok: true,
      model: verified.model,
      price: verified.price,
      learned: verified.learned || null,
      problem: null,
    };
  },
});

/** A key is sent only to the endpoint that it was given for. */
function settingsFor(
  config: Config,
  {
    api_key,
    base_url,
    model,
  }: { api_key?: string | undefined; base_url?: string | undefined; model?: string | undefined },
): ModelSettings {
  const named = model ?? (config.AGENT_MODEL === PRACTICE ? undefined : config.AGENT_MODEL);
  const elsewhere = base_url !== undefined && base_url !== config.OPENAI_BASE_URL;
  const keys = elsewhere || api_key !== undefined ? { OPENAI_API_KEY: undefined, OPENROUTER_API_KEY: undefined } : {};
  return {
    ...config,
    ...keys,
    ...(base_url && { OPENAI_BASE_URL: base_url }),
    ...(api_key && { OPENAI_API_KEY: api_key }),
    AGENT_MODEL: named,
  } as ModelSettings;
}
