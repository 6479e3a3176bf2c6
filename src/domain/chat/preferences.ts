import { capabilitiesOf } from '../../contracts/channels.ts';
import type { Channel } from '../../contracts/ids.ts';
import { isTimeZone, nextFirings } from '../cron.ts';
import { english, type Language, type Say } from '../texts/say.ts';

/** Preferences of a person in a chat. What is unset is as the settings say. */
export interface Preferences {
  brevity?: 'short' | 'detailed';
  /** a language tag such as `de` or `pt-BR` */
  language?: string;
  /** the language that the person wrote last, as it was recognized: for our own texts while no other is wanted */
  writes?: Language;
  /** IANA name */
  timeZone?: string;
  /** `results`: no progress reports. `problems`: no successes of schedules either */
  notifications?: 'results' | 'problems';
  /** `22:00-07:00`, by the clock of the time zone */
  quietHours?: string;
  model?: string;
  /** where the owner wants to be asked, whatever chat a question is of */
  askOn?: Channel;
}

/** What nobody asked for: a report on the way, the success of a routine, news and the result of a coding task. */
export type Unasked = 'progress' | 'routine' | 'task';

const LANGUAGES = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });
let tags: Map<string, string> | undefined;

/**
 * The tag of a language that is named by its tag or its English name; null when there is none. It goes into the prompt,
 * so it is never free text.
 */
export function languageTag(named: string): string | null {
  const [tag] = canonical(named.trim());
  if (tag !== undefined && LANGUAGES.of(tag) !== undefined) return tag;
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  tags ??= new Map(
    letters.flatMap((first) =>
      letters.flatMap((second) =>
        [...canonical(first + second)].flatMap((each) => [[nameOf(each).toLowerCase(), each] as const]),
      ),
    ),
  );
  return tags.get(named.trim().toLowerCase()) ?? null;
}

function canonical(tag: string): string[] {
  try {
    // without extensions: the names of languages know none, and throw
    return [new Intl.Locale(tag).baseName];
  } catch {
    return [];
  }
}

const nameOf = (tag: string): string => LANGUAGES.of(tag) ?? tag;

/** `22:00-07:00` from what was written; null when it is no span of time. */
export function quietSpan(text: string): string | null {
  const [, fromHour, fromMinute = '00', toHour, toMinute = '00'] =
    /^(\d{1,2})(?::(\d\d))? ?(?:-|–|to) ?(\d{1,2})(?::(\d\d))?$/.exec(text.trim()) ?? [];
  if (fromHour === undefined || toHour === undefined) return null;
  if (Number(fromHour) > 23 || Number(toHour) > 23 || Number(fromMinute) > 59 || Number(toMinute) > 59) return null;
  const from = `${fromHour.padStart(2, '0')}:${fromMinute}`;
  const to = `${toHour.padStart(2, '0')}:${toMinute}`;
  return from === to ? null : `${from}-${to}`;
}

/** When the quiet hours end that it is in now; null when it is not quiet. */
export function quietUntil({ quietHours }: Preferences, timeZone: string, now: Date): Date | null {
  const span = quietHours?.split('-');
  if (!span || !isTimeZone(timeZone)) return null;
  const [begin, end] = span.map((clock) => {
    const [hour, minute] = clock.split(':').map(Number);
    return nextFirings(`${minute} ${hour} * * *`, timeZone, now, 1)[0];
  });
  // in quiet hours, their end comes before their next begin
  return begin && end && end < begin ? end : null;
}

/** What becomes of a message that nobody asked for: it is sent, not sent, or waits until a time. */
export function fateOf(unasked: Unasked, chosen: Preferences, timeZone: string, now: Date): 'send' | 'drop' | Date {
  const { notifications } = chosen;
  if (unasked === 'progress' && notifications !== undefined) return 'drop';
  if (unasked === 'routine' && notifications === 'problems') return 'drop';
  const until = quietUntil(chosen, timeZone, now);
  if (until === null) return 'send';
  // a report on the way is old news in the morning
  return unasked === 'progress' ? 'drop' : until;
}

/**
 * What the model is told of them. Only what changes an answer is in it, so that it stays the same from turn to turn.
 */
export function preferenceLines({ brevity, language }: Preferences): string[] {
  const wants = [
    ...(brevity === 'short' ? ['as short as possible, one or two sentences'] : []),
    ...(brevity === 'detailed' ? ['in detail, with reasons'] : []),
    ...(language ? [`in ${nameOf(language)}, whatever language is used elsewhere`] : []),
  ];
  return wants.length > 0 ? [`The person wants answers ${wants.join(', and ')}.`] : [];
}

/** Every preference of a chat, for a person and for the model. */
export function preferencesText(
  chosen: Preferences,
  { autonomy, timeZone }: { autonomy: string; timeZone: string },
  say: Say = english,
): string {
  const { brevity, language, model, notifications, quietHours, askOn } = chosen;
  const names = new Intl.DisplayNames([say.locale], { type: 'language' });
  const line = (name: PreferenceName, value: string) => say('pref.line', { name: say(`pref.${name}`), value });
  return [
    line('brevity', say(`pref.${brevity ?? 'normal'}`)),
    line('language', language ? `${names.of(language)} (${language})` : say('pref.eachMessage')),
    line('timeZone', chosen.timeZone ? timeZone : say('pref.allChats', { zone: timeZone })),
    line('autonomy', autonomy),
    line('model', model ?? say('pref.usualModel')),
    line('notifications', say(`pref.${notifications ?? 'all'}`)),
    line('quietHours', quietHours ?? say('pref.none')),
    ...(askOn ? [line('askOn', say('pref.alsoOn', { channel: capabilitiesOf(askOn).label }))] : []),
  ].join('\n');
}

type PreferenceName = Exclude<keyof Preferences, 'writes'> | 'autonomy';
