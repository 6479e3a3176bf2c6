import { hasModel } from '../../../kennel/agents/registry.ts';
import { AGENT_NAMES } from '../../contracts/kennel.ts';
import { HOUR } from '../time.ts';

/**
 * Variables of the original Fetch (0.0.94) for which we have a setting of another name. They count where ours is unset,
 * so that its `.env` goes on to work.
 */

type Values = Readonly<Record<string, string | undefined>>;

interface OriginalName {
  /** our setting */
  is: string;
  /** as the setting is written; a text that is no number is left to the setting to refuse */
  read: (text: string) => string;
  meaning: string;
}

const TRUE = /^(1|true|yes|on)$/i;
const same = (text: string): string => text;
const per = (unit: number) => (text: string) => (Number.isFinite(Number(text)) ? String(Number(text) / unit) : text);

export const ORIGINAL_NAMES: Readonly<Record<string, OriginalName>> = {
  WORKSPACE_ROOT: { is: 'FETCH_WORKSPACES', read: same, meaning: 'the same' },
  FETCH_RATE_LIMIT_MAX: { is: 'WHATSAPP_RATE_LIMIT', read: same, meaning: 'the same; the window is always a minute' },
  FETCH_WA_MAX_LENGTH: {
    is: 'WHATSAPP_TEXT_LIMIT',
    read: same,
    meaning: 'the same; a longer reply is cut into several and loses nothing',
  },
  FETCH_PROGRESS_THROTTLE: { is: 'FETCH_PROGRESS_SECONDS', read: per(1_000), meaning: 'in milliseconds' },
  ENABLE_BROWSER: {
    is: 'FETCH_BROWSER_SLOTS',
    read: (text) => (TRUE.test(text.trim()) ? '4' : '0'),
    meaning: 'true is 4, and anything else is 0',
  },
  FETCH_COMPACTION_MODEL: { is: 'SUMMARY_MODEL', read: same, meaning: 'the same' },
  FETCH_TASK_TIMEOUT: { is: 'FETCH_TASK_HOURS', read: per(HOUR), meaning: 'in milliseconds' },
};

const AGENTS = 'FETCH_KENNEL_AGENTS';
export const enablesAgent = (agent: string): string => `ENABLE_${agent.toUpperCase()}`;
const SWITCHES = AGENT_NAMES.filter(hasModel).map(enablesAgent);

/** Whether a variable of the original has a meaning here. */
export const isOriginalName = (name: string): boolean => Object.hasOwn(ORIGINAL_NAMES, name) || SWITCHES.includes(name);

/**
 * The value of a setting under its own name, else under one of the original; undefined when there is none. An empty
 * text is none.
 */
export function valueIn(name: string, values: Values): string | undefined {
  if (values[name]?.trim()) return values[name];
  if (name === AGENTS) return enabledAgents(values);
  const original = Object.keys(ORIGINAL_NAMES).find(
    (each) => ORIGINAL_NAMES[each]!.is === name && values[each]?.trim(),
  );
  return original === undefined ? undefined : ORIGINAL_NAMES[original]!.read(values[original]!);
}

/**
 * `ENABLE_CLAUDE=true` and the like: one that is set turns off those that are not. The practice agent needs no switch.
 */
function enabledAgents(values: Values): string | undefined {
  if (!SWITCHES.some((name) => values[name]?.trim())) return undefined;
  return AGENT_NAMES.filter((name) => !hasModel(name) || TRUE.test(values[enablesAgent(name)]?.trim() ?? '')).join(',');
}
