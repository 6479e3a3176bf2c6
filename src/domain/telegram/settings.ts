import { z } from 'zod';
import { httpUrl } from '../settings/shapes.ts';

/** The channel's settings; `src/config.ts` joins them with the others. */
export const telegramSettings = {
  FETCH_TELEGRAM_TOKEN: z
    .string()
    .trim()
    .regex(/^\d{1,20}:[\w-]{1,100}$/, 'must be a token as @BotFather gives it, such as 123456:ABC-DEF')
    .optional()
    .meta({ secret: true })
    .describe('Token of a Telegram bot, from @BotFather'),
  FETCH_TELEGRAM_API: httpUrl('http://localhost:8081')
    .default('https://api.telegram.org')
    .describe('Root of the Bot API'),
} as const;
