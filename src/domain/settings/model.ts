import { z } from 'zod';
import { readPrices } from '../model/price-book.ts';
import { httpUrl, live, positive, secret } from './shapes.ts';

/** The model endpoint of chats. */
export const modelSettings = {
  OPENAI_BASE_URL: live(
    httpUrl('http://127.0.0.1:11434/v1')
      .optional()
      .describe('Address of an OpenAI-compatible endpoint (Ollama, vLLM, llama.cpp, ...), of Anthropic or of Gemini'),
  ),
  OPENAI_API_KEY: live(secret().describe('Key for OPENAI_BASE_URL, or for OpenAI itself')),
  OPENROUTER_API_KEY: live(secret().describe('Key for OpenRouter; used when no OpenAI setting is set')),
  AGENT_MODEL: live(
    z
      .string()
      .trim()
      .min(1)
      .optional()
      .describe('Model name. Without a key and an endpoint, the practice model answers'),
  ),
  FETCH_FALLBACK_MODEL: live(
    z
      .string()
      .trim()
      .min(1)
      .optional()
      .describe('A second model of the same endpoint that takes over when the first one fails'),
  ),
  SUMMARY_MODEL: live(
    z.string().trim().min(1).optional().describe('A model of the same endpoint that sums up long conversations'),
  ),
  VISION_MODEL: live(
    z
      .string()
      .trim()
      .min(1)
      .optional()
      .describe('A model of the same endpoint that answers while pictures are in the conversation'),
  ),
  FETCH_REASONING_EFFORT: live(
    z
      .enum(['none', 'minimal', 'low', 'medium', 'high'])
      .optional()
      .describe('How much the model thinks, where the endpoint lets one choose; its own default when unset'),
  ),
  FETCH_MODEL_PRICE: live(
    z
      .string()
      .trim()
      .superRefine((text, context) => {
        const prices = readPrices(text);
        if (typeof prices === 'string') context.addIssue(prices);
      })
      .optional()
      .describe(
        'Price of input, output and cached input in US dollars per million tokens: 0.5,2 for the chat endpoint, some-model=0.5,2,0.05 for one model. Separate several with ;',
      ),
  ),
  FETCH_MODEL_TELL_SECONDS: live(
    positive(30).describe('People are told when the wait for the model is longer than this'),
  ),
  FETCH_MODEL_SILENCE_SECONDS: live(
    positive(600).describe(
      'A model endpoint that is silent for this long is given up; the first request gets half of it',
    ),
  ),
  FETCH_MODEL_WAIT_HOURS: live(
    z.coerce
      .number()
      .min(0)
      .max(24 * 31)
      .default(6)
      .describe('Longest wait of a turn for limits of the model, beside FETCH_MAX_TURN_MINUTES'),
  ),
} as const;

/** Voice notes. */
export const speechSettings = {
  WHISPER_BIN: z
    .string()
    .min(1)
    .optional()
    .describe('whisper.cpp binary for voice notes; whisper-cli on PATH by default'),
  WHISPER_MODEL: z.string().min(1).optional().describe('Model file of whisper.cpp (ggml-*.bin)'),
  TRANSCRIPTION_BASE_URL: httpUrl('http://127.0.0.1:9000/v1')
    .optional()
    .describe('OpenAI-compatible endpoint that transcribes voice notes when whisper.cpp is missing'),
  TRANSCRIPTION_API_KEY: secret().describe(
    'Key for TRANSCRIPTION_BASE_URL; OPENAI_API_KEY when unset and it is the same host',
  ),
  TRANSCRIPTION_MODEL: z.string().min(1).default('whisper-1').describe('Model that transcribes'),
} as const;
