import { inline } from '../../text/foreign-text.ts';
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

/** A line of the list of steps that an agent keeps for itself. */
export interface AgentStep {
  content: string;
  status: string;
}

const STEPS_SHOWN = 12;
const STEP_CHARS = 100;

/** The list as a message has it: `☑ read the code`, `☐ write tests`. Of a long list the part around what is done now. */
export function stepsInWords(steps: readonly AgentStep[]): string {
  const isDone = ({ status }: AgentStep): boolean => status === 'completed';
  const next = steps.findIndex((step) => !isDone(step));
  const from = Math.max(0, Math.min((next < 0 ? steps.length : next) - 2, steps.length - STEPS_SHOWN));
  const shown = steps.slice(from, from + STEPS_SHOWN);
  const left = steps.length - from - shown.length;
  return [
    ...(from > 0 ? [`☑ ${from} before`] : []),
    ...shown.map((step) => `${isDone(step) ? '☑' : '☐'} ${inline(step.content, STEP_CHARS)}`),
    ...(left > 0 ? [`☐ ${left} more`] : []),
  ].join('\n');
}
