import { z } from 'zod';
import type { TrustLevel } from '../contracts/conversation.ts';
import type { Channel } from '../contracts/ids.ts';
import { languageTag, type Preferences, preferencesText, quietSpan } from '../domain/chat/preferences.ts';
import { mayTrust } from '../domain/consent/policy.ts';
import { isTimeZone } from '../domain/cron.ts';
import { choose, chosenIn } from '../store/chats/preferences.ts';
import { reachOf } from '../store/chats/shares.ts';
import { isMainChat } from '../store/owner/memories.ts';
import { SENDING } from '../store/owner/places.ts';
import { ownersChats } from '../store/owner/second-channel.ts';
import { approverOfCall } from '../store/turns/questions/questions.ts';
import { trust } from '../store/turns/replies.ts';
import { defineTool, shown, type ToolContext, type ToolOutcome } from './tool.ts';

/** `preferences`: what a person prefers in a chat, said in any words. */

interface Wanted {
  brevity?: 'short' | 'normal' | 'detailed' | undefined;
  language?: string | undefined;
  timeZone?: string | undefined;
  autonomy?: TrustLevel | undefined;
  model?: string | undefined;
  notifications?: 'all' | 'results' | 'problems' | undefined;
  quietHours?: string | undefined;
  askOn?: Channel | typeof RESET | undefined;
}

const word = (max: number) => z.string().trim().min(1).max(max).optional();
const TRUST = ['supervised', 'cautious', 'judged', 'autonomous'] as const satisfies readonly TrustLevel[];
const RESET = 'default';

export const preferences = defineTool({
  name: 'preferences',
  family: 'settings',
  reads: [],
  sends: ['settings'],
  // how an answer is worded, and being more careful, harms nobody; what else a page asks for must be the person's wish
  sent: ({ timeZone, autonomy, model, notifications, quietHours, askOn }) => ({
    texts: [timeZone, autonomy === 'supervised' ? undefined : autonomy, model, notifications, quietHours, askOn].filter(
      (text) => text !== undefined,
    ),
  }),
  description:
    'Show the preferences of this chat, or set those given; "default" resets one. notifications: results means no progress, problems nor successes of schedules.',
  schema: z.strictObject({
    brevity: z.enum(['short', 'normal', 'detailed']).optional(),
    language: word(40),
    timeZone: word(60).describe('IANA'),
    autonomy: z.enum(TRUST).optional(),
    model: word(120),
    notifications: z.enum(['all', 'results', 'problems']).optional(),
    quietHours: word(20).describe('22:00-07:00'),
    askOn: z.enum([...SENDING, RESET]).optional(),
  }),
  danger: 'MODERATE',
  dangerOf: ({ autonomy }) => (autonomy === undefined || autonomy === 'supervised' ? 'SAFE' : 'DANGEROUS'),
  asksAlways: ({ autonomy }) => autonomy === 'autonomous',
  effect: 'idempotent',
  runsIn: 'worker',
  onStore: 'writes',
  timeoutMs: 10_000,
  notARoutineStep: true,
  asks: (args, _, say) => {
    const changes = Object.entries(args).map(
      ([name, value]) => `${say(`pref.${name as keyof Wanted}`)} ${shown(value)}`,
    );
    return say('ask.preferences', { what: changes.join(', ') });
  },
  run: async (args, context) => {
    const { db, chatId, config } = context;
    const changes = await changesOf(args, context);
    if (typeof changes === 'string') return no(changes);
    if (args.autonomy) {
      const refused = await trustAs(args.autonomy, context);
      if (refused) return no(refused);
    }
    const { askOn, ...ofChat } = changes;
    if (Object.keys(ofChat).length > 0) await choose(db, chatId, ofChat);
    // of the person, and not of one chat
    if (askOn !== undefined)
      for (const id of new Set([chatId, ...(await ownersChats(db, config)).map((chat) => chat.id)]))
        await choose(db, id, { askOn });
    const now = await chosenIn(db, chatId);
    const timeZone = now.preferences.timeZone ?? config.FETCH_TIME_ZONE;
    return {
      ok: true,
      output: preferencesText(now.preferences, { autonomy: now.autonomy, timeZone }),
      metadata: { ...now.preferences, timeZone, autonomy: now.autonomy },
    };
  },
});

const no = (output: string): ToolOutcome => ({ ok: false, output });

type Changes = { [name in keyof Preferences]: Preferences[name] | null };

/** The preferences to store, or why not. Null resets. */
async function changesOf(
  { brevity, language, timeZone, model, notifications, quietHours, askOn }: Wanted,
  context: ToolContext,
): Promise<Changes | string> {
  const changes: Changes = {};
  if (brevity) changes.brevity = brevity === 'normal' ? null : brevity;
  if (notifications) changes.notifications = notifications === 'all' ? null : notifications;
  if (language) {
    changes.language = language === RESET ? null : languageTag(language);
    if (changes.language === null && language !== RESET)
      return `"${shown(language)}" is no language that I know. Give its English name, or a tag such as de.`;
  }
  if (timeZone) {
    if (timeZone !== RESET && !isTimeZone(timeZone))
      return `"${shown(timeZone)}" is not an IANA time zone such as Europe/Berlin.`;
    changes.timeZone = timeZone === RESET ? null : timeZone;
  }
  if (quietHours) {
    changes.quietHours = quietHours === RESET ? null : quietSpan(quietHours);
    if (changes.quietHours === null && quietHours !== RESET)
      return `"${shown(quietHours)}" is no span of time such as 22:00-07:00.`;
  }
  if (askOn) {
    if (!(await isMainChat(context.db, context.chatId, context.config)))
      return 'Only the owner says where questions are asked.';
    changes.askOn = askOn === RESET ? null : askOn;
  }
  if (model) {
    if ((await reachOf(context.db, context)) !== null) return 'Only the owner chooses the model.';
    if (!/^[\w.:/@+-]+$/.test(model)) return `"${shown(model)}" is no name of a model.`;
    changes.model = model === RESET ? null : model;
  }
  return changes;
}

/**
 * Changes how much is done without asking; returns why not. The model may make it less by itself, and more only after a
 * yes of the owner to this very call.
 */
async function trustAs(autonomy: TrustLevel, { db, callId, chatId, threadId }: ToolContext): Promise<string | null> {
  const now = await chosenIn(db, chatId);
  if (autonomy === now.autonomy) return null;
  const looser = TRUST.indexOf(autonomy) > TRUST.indexOf(now.autonomy);
  const by = looser ? await approverOfCall(db, callId) : null;
  if (looser && !(by && mayTrust(by) && by.standing === undefined))
    return `Only the owner lets me do more without asking, by saying: ${autonomy}`;
  if (now.group && looser) return 'In a group I can only be made more careful.';
  await db.transaction().execute((tx) => trust(tx, { threadId, chatId, autonomy, shared: false, owned: true }));
  return null;
}
