import { z } from 'zod';
import type { SchedulePreview } from '../../../contracts/owner.ts';
import { parseRemind, readRemind } from '../../../domain/chat/words/reminder.ts';
import { readSchedule } from '../../../domain/chat/words/schedule-words.ts';
import { describeTime, isTimeZone, nextFirings, parseSchedule } from '../../../domain/cron.ts';
import { zoneOf } from '../../../store/chats/preferences.ts';
import { chatOfThread } from '../../../store/chats/threads/threads.ts';
import { ApiError, textRequired } from '../../errors/errors.ts';
import { type Fields, time } from '../../http/endpoint.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';
import { existingThread } from '../../runtime/threads/threads.ts';

const NEXT = 5;
const EXAMPLES =
  'Write for example "every weekday at 8:30", "every 15 minutes", "every month on the 1st", "tomorrow at 9", or five fields such as 30 8 * * MON-FRI';

const preview = z
  .object({
    kind: z.enum(['cron', 'once']),
    expression: z.string(),
    time_zone: z.string(),
    firings: z.array(time()),
    described: z.array(z.string()),
    what: z.string().describe('What is left of the text without the words of time'),
  } satisfies Fields<SchedulePreview>)
  .meta({ id: 'SchedulePreview' });

export const postPreview = endpoint({
  method: 'POST',
  path: '/v1/owner/schedules/preview',
  summary: 'When something would fire; nothing is stored',
  body: z
    .object({
      text: z.string().describe('Five fields, or words'),
      time_zone: z.string().optional().describe("IANA name; that of the thread's chat when left out"),
      thread_id: z.string().optional(),
    })
    .meta({ id: 'SchedulePreviewRequest', examples: [{ text: 'every weekday at 8:30', time_zone: 'Europe/Berlin' }] }),
  answer: { schema: preview, what: 'The next five firings, or the one.' },
  refusals: { 404: 'There is no such thread.' },
  handle: async ({ body: { text, time_zone, thread_id } }, deps) => {
    const said = text.trim();
    if (!said) throw textRequired('text');
    const zone = time_zone ?? (await zoneOfThread(thread_id, deps));
    if (!isTimeZone(zone))
      throw new ApiError(400, `"${zone.slice(0, 60)}" is not an IANA time zone such as Europe/Berlin`);
    const now = new Date();
    const words = readSchedule(said);
    const parsed = parseSchedule(words?.schedule ?? said, zone, now);
    if (parsed.ok)
      return viewOf('cron', parsed.schedule, zone, nextFirings(parsed.schedule, zone, now, NEXT), words?.what ?? '');
    const once = words
      ? null
      : await readRemind({ rest: parseRemind(said)?.rest ?? said, certain: true }, now, { timeZone: zone });
    if (once && 'at' in once) return viewOf('once', once.at.toISOString(), zone, [once.at], once.what);
    throw new ApiError(400, `${problemOf(once, said, parsed.error)}. ${EXAMPLES}`);
  },
});

const viewOf = (
  kind: SchedulePreview['kind'],
  expression: string,
  zone: string,
  at: readonly Date[],
  what: string,
): SchedulePreview => ({
  kind,
  expression,
  time_zone: zone,
  firings: at.map((each) => each.toISOString()),
  described: at.map((each) => describeTime(each, zone)),
  what,
});

type Once = Awaited<ReturnType<typeof readRemind>>;

/** What looks like five fields is told what is wrong with them. */
function problemOf(once: Once, said: string, asFields: string): string {
  if (/^[@*\d]/.test(said) && !/[a-z]{4}/i.test(said)) return `The schedule is not right: ${asFields}`;
  const problems = {
    what: 'It is not said what is to be done then',
    past: 'That time is over',
    when: 'There is no time in that, or more than one',
  };
  return once && 'problem' in once ? problems[once.problem] : problems.when;
}

async function zoneOfThread(
  threadId: string | undefined,
  deps: Parameters<typeof existingThread>[1] & { config: { FETCH_TIME_ZONE: string } },
): Promise<string> {
  if (threadId === undefined) return deps.config.FETCH_TIME_ZONE;
  const { db } = deps.store;
  return await zoneOf(db, await chatOfThread(db, (await existingThread(threadId, deps)).id), deps.config);
}
