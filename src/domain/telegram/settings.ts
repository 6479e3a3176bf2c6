import { httpUrl, secret } from '../settings/shapes.ts';

/** The channel's settings; `src/config.ts` joins them with the others. */
export const telegramSettings = {
  FETCH_TELEGRAM_TOKEN: secret().describe('Token of a Telegram bot, from @BotFather'),
  FETCH_TELEGRAM_API: httpUrl('http://localhost:8081')
    .default('https://api.telegram.org')
    .describe('Root of the Bot API'),
} as const;
