import { z } from 'zod';
import { triggerProblem } from '../chat/trigger.ts';
import { live, whole } from '../settings/shapes.ts';

/** The channel's settings; `src/config.ts` joins them with the others. */

/** International phone numbers, comma separated, as digits. */
const phones = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((number) => number.replace(/[\s()+./-]/g, ''))
      .filter(Boolean)
      .join(','),
  )
  .superRefine((text, context) => {
    const wrong = text.split(',').filter((number) => !/^[1-9]\d{6,14}$/.test(number));
    if (wrong.length > 0)
      context.addIssue(
        `must be phone numbers in international form, such as +49 170 1234567; "${wrong.join('", "')}" is not one`,
      );
  });

export const whatsappSettings = {
  WHATSAPP_NUMBER: z
    .enum(['shared', 'dedicated'])
    .optional()
    .describe("Whose number is linked: shared (the owner's own) or dedicated; chosen at pairing when unset"),
  OWNER_PHONE_NUMBER: live(
    phones.optional().describe('The owner, international form; the linked account itself when unset'),
  ),
  TRUSTED_PHONE_NUMBERS: live(
    phones.optional().describe('More people who may use Fetch, comma separated; `trust add` in the chat names others'),
  ),
  FETCH_TRIGGER: live(
    z
      .string()
      .trim()
      .min(1)
      .superRefine((trigger, context) => {
        const problem = triggerProblem(trigger);
        if (problem) context.addIssue(problem);
      })
      .default('@fetch')
      .describe('Word that calls Fetch in chats where people talk to each other'),
  ),
  FETCH_ASSISTANT_NAME: live(
    z
      .string()
      .trim()
      .max(40)
      .default('Fetch')
      .describe('Name that begins answers on a shared number, outside your own chat; `none` leaves it out'),
  ),
  WHATSAPP_RATE_LIMIT: live(whole(30).describe('Messages of one author that are handled in a minute; more wait')),
  WHATSAPP_TEXT_LIMIT: live(
    z.coerce
      .number()
      .int()
      .min(200)
      .max(60_000)
      .default(4000)
      .describe('Characters of one WhatsApp message; longer replies are cut at natural places'),
  ),
  WHATSAPP_POLLS: live(
    z.stringbool().default(false).describe('Ask questions with choices as polls instead of numbered lists'),
  ),
  WHATSAPP_PACE_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(60_000)
    .default(1000)
    .describe(
      'Shortest time between two WhatsApp messages, plus a random time of up to the same length; 0 only in tests',
    ),
  WHATSAPP_PER_MINUTE: whole(20).describe('Most WhatsApp messages sent in a minute; more wait'),
  WHATSAPP_PER_DAY: whole(1000).describe('Most WhatsApp messages sent in a day; more wait'),
  WA_VERSION: z
    .string()
    .regex(/^\d+\.\d+\.\d+$/, 'must look like 2.3000.1043857760')
    .optional()
    .describe('WhatsApp version to announce instead of the bundled one'),
} as const;

/** Tests put another server in place of WhatsApp with these. */
export const whatsappTestServer = {
  WA_WEB_SOCKET_URL: z
    .string()
    .regex(/^wss?:\/\//, 'must start with ws:// or wss://')
    .optional()
    .describe('For tests: another WhatsApp Web server'),
  WA_NOISE_ROOT_KEY: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
    .optional()
    .describe("For tests: that server's Noise certificate root, public key"),
  WA_MEDIA_HOST: z.string().min(1).optional().describe('For tests: host:port that media is loaded from'),
  WA_ALLOW_INSECURE: z
    .stringbool()
    .default(false)
    .describe('For tests: allow a ws: address; everything is readable on the wire'),
} as const;
