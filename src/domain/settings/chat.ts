import { z } from 'zod';
import { httpUrl, live, meantBy, positive, whole } from './shapes.ts';

/** How chats work: the person, consent, budgets and times. */
export const chatSettings = {
  FETCH_WORKSPACE: z
    .string()
    .min(1)
    .optional()
    .describe('Folder that new threads work in; the current folder by default'),
  FETCH_USER_NAME: live(z.string().trim().max(80).optional().describe('What to call the person')),
  FETCH_TIME_ZONE: live(
    z
      .string()
      .trim()
      .min(1)
      .default('UTC')
      .describe('IANA time zone of the person')
      .superRefine((zone, context) => {
        const zones = Intl.supportedValuesOf('timeZone');
        if (!zones.includes(zone) && zone !== 'UTC')
          context.addIssue(`is not an IANA time zone such as Europe/Berlin${meantBy({ among: zones }, zone)}`);
      }),
  ),
  FETCH_KEEP_DAYS: live(
    z.coerce
      .number()
      .int()
      .min(1)
      .max(36_500)
      .optional()
      .describe('Erase the texts of a session after so many days of silence; kept when unset'),
  ),
  FETCH_AUTONOMY: live(
    z
      .enum(['supervised', 'cautious', 'autonomous'])
      .default('cautious')
      .describe('What runs without asking (supervised, cautious, autonomous): docs/security.md'),
  ),
  FETCH_READ_SECONDS: live(
    z.coerce.number().min(0).max(60).default(2).describe('How long a question must be shown before a yes or no counts'),
  ),
  FETCH_MAX_STEPS: live(whole(25).describe('Model steps in a turn')),
  FETCH_MAX_TOOL_CALLS: live(whole(60).describe('Tool calls in a turn')),
  FETCH_MAX_TURN_TOKENS: live(whole(2_000_000).describe('Tokens in a turn')),
  FETCH_MAX_TURN_USD: live(positive(5).describe('Money in a turn, US dollars')),
  FETCH_MAX_DAY_TOKENS: live(
    whole(20_000_000).describe('Tokens of a chat in a day of FETCH_TIME_ZONE, with the runs of its automations'),
  ),
  FETCH_MAX_DAY_USD: live(positive(25).describe('Money of a chat in a day, US dollars')),
  FETCH_MAX_MONTH_TOKENS: live(whole(500_000_000).describe('Tokens of a chat in a month, with its coding tasks')),
  FETCH_MAX_MONTH_USD: live(positive(250).describe('Money of a chat in a month, with its coding tasks, US dollars')),
  FETCH_MAX_SCHEDULE_TOKENS: live(
    whole(20_000_000).describe('Tokens of all runs of one schedule or automation in a day'),
  ),
  FETCH_MAX_SCHEDULE_USD: live(
    positive(5).describe('Money of all runs of one schedule or automation in a day, in US dollars'),
  ),
  FETCH_MAX_TURN_MINUTES: live(positive(240, 20_000).describe('Time of a turn, without waits for a person')),
  FETCH_CONTEXT_TOKENS: live(
    whole(48_000).describe('Tokens of history that a model step may see before it is summed up'),
  ),
  FETCH_QUESTION_REMIND_HOURS: positive(24, 8_784).describe('Remind once about an open question after this long'),
  FETCH_QUESTION_EXPIRE_HOURS: positive(24 * 7, 8_784).describe('An unanswered question expires after this long'),
  FETCH_CATCHUP_HOURS: z.coerce
    .number()
    .min(1)
    .max(24 * 30)
    .default(24)
    .describe('A schedule that was due while nothing ran still runs up to this long afterwards, once'),
  FETCH_STOP_SECONDS: z.coerce
    .number()
    .min(1)
    .max(3600)
    .default(30)
    .describe('Longest wait of a stop for running work; `fetch stop --now` does not wait'),
  FETCH_ON_LEAVE: live(
    z
      .enum(['ask', 'keep', 'stop'])
      .default('ask')
      .describe('When you leave the chat in the terminal that started Fetch: ask once, keep it running, or stop it'),
  ),
  // a run has four events before it does anything: a limit below them would continue as new for ever
  FETCH_MAX_HISTORY_EVENTS: z.coerce
    .number()
    .int()
    .min(20)
    .default(1500)
    .describe('A conversation continues as new between turns above this many history events'),
  FETCH_UI_TEXT: live(
    z
      .enum(['on', 'off'])
      .default('off')
      .describe('on: the Temporal Web UI shows first words of questions, and files and commands of approvals'),
  ),
  FETCH_NTFY_URL: live(
    httpUrl('https://ntfy.sh/a-topic-that-nobody-guesses')
      .optional()
      .meta({ secret: true })
      .describe('Topic of ntfy that gets notices of questions, approvals, failures and results: docs/page.md'),
  ),
  FETCH_SEARXNG_URL: live(
    httpUrl('http://127.0.0.1:8888')
      .optional()
      .describe('SearXNG for searches on the web; it may be on this machine or a private network'),
  ),
  FETCH_ALLOW_PRIVATE_URLS: live(
    z
      .stringbool()
      .default(false)
      .describe('Let web_fetch and the browser reach private addresses; for tests and trusted networks only'),
  ),
} as const;
