import { z } from 'zod';
import { readPrices } from '../model/price-book.ts';
import { positive, secret } from './shapes.ts';

/** The model endpoint of chats. */
export const modelSettings = {
  OPENAI_BASE_URL: z.url().optional().describe('Any OpenAI-compatible endpoint (Ollama, vLLM, llama.cpp, ...)'),
  OPENAI_API_KEY: secret().describe('Key for it, or for OpenAI itself'),
  OPENROUTER_API_KEY: secret().describe('Key for OpenRouter; used when no OpenAI setting is there'),
  AGENT_MODEL: z.string().trim().min(1).optional().describe('Model name. Where no key and no endpoint is configured, the practice model answers'),
  FETCH_FALLBACK_MODEL: z.string().trim().min(1).optional().describe('A second model of the same endpoint that takes over when the first one fails'),
  FETCH_MODEL_PRICE: z
    .string()
    .trim()
    .superRefine((text, context) => {
      const prices = readPrices(text);
      if (typeof prices === 'string') context.addIssue(prices);
    })
    .optional()
    .describe(
      'Price of input, output and perhaps cached input, US dollars per million tokens: 0.5,2 for the endpoint of chats, some-model=0.5,2,0.05 for a model anywhere; more of them behind a ;',
    ),
  FETCH_MODEL_TELL_SECONDS: positive(30).describe('A wait for the model that is longer than this is told'),
  FETCH_MODEL_SILENCE_SECONDS: positive(600).describe(
    'A model endpoint that gives no answer for this long is given up; until half of it has passed, the first request is waited for: slow machines need minutes for a first word',
  ),
  FETCH_MODEL_WAIT_HOURS: z.coerce
    .number()
    .min(0)
    .max(24 * 31)
    .default(6)
    .describe("A turn waits out the model's rate and usage limits for this long in all, which is no part of FETCH_MAX_TURN_MINUTES"),
} as const;
