import { isTooLong } from './commands.ts';

/** Words about plans: what a message asks for, and what a chat prefers. */

/**
 * Whether the coding tasks of a chat begin with a plan, when the whole message says it; `auto` leaves it to the model
 * and to the size of the goal.
 */
export function parsePlanPreference(text: string): 'on' | 'off' | 'auto' | null {
  if (isTooLong(text)) return null;
  return (
    (/^\/?plan(?: first)? (on|off|auto)[.!]{0,3}$/.exec(text.trim().toLowerCase())?.[1] as
      | 'on'
      | 'off'
      | 'auto'
      | undefined) ?? null
  );
}

/**
 * What is to be planned, when a message begins with the word: `plan: add a login page`, `plan add a login page`. Null
 * for every other message.
 */
export function parsePlanFirst(text: string): string | null {
  if (parsePlanPreference(text)) return null;
  return /^\s{0,20}\/?plan(?:\s{0,5}:|\s)\s{0,20}(\S[\s\S]*)$/i.exec(text)?.[1]?.trim() ?? null;
}

/** The reply to `plan on` and its like. */
export const planPreferenceText: Record<'on' | 'off' | 'auto', string> = {
  on: 'From now on each coding task here begins with a plan, and changes nothing before your yes.',
  off: 'From now on coding tasks here begin at once. "plan: …" asks for a plan all the same.',
  auto: 'From now on a coding task here begins with a plan when you ask for one, or when it is big.',
};
