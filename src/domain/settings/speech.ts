import { z } from 'zod';
import { httpUrl, secret } from './shapes.ts';

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
    .describe(
      'OpenAI-compatible endpoint that transcribes voice notes when whisper.cpp is missing; no other endpoint is used',
    ),
  TRANSCRIPTION_API_KEY: secret().describe('Key for it; OPENAI_API_KEY when unset and it is the same host'),
  TRANSCRIPTION_MODEL: z.string().min(1).default('whisper-1').describe('Its model'),
} as const;
