import { AGENT_NAMES, type AgentName } from '../../../contracts/kennel.ts';

/** Several coding tasks at once that a message asks for. */
export interface Together {
  /** `race`: attempts at the same goal, of which one is chosen. `split`: independent parts, which are all brought in */
  kind: 'race' | 'split';
  /** `plan`: each begins with a plan, and the person agrees to the better one */
  tasks: Array<{ goal: string; agent?: AgentName; plan?: true }>;
  workspace?: string;
}

const MOST_TOGETHER = 5;

const COUNTS: Record<string, number> = { two: 2, three: 3, four: 4, five: 5 };

/**
 * What a whole message wants done at once: `race 3: fix the parser`, `race 2 plans: …`, `race claude, codex in shop: …`, `split: the login
 * page; its tests`. Null for every other message. A goal may be long, so the limit of other words does not hold.
 */
export function parseTogether(text: string): Together | null {
  const colon = text.indexOf(':');
  if (colon < 0 || colon > LONGEST_HEAD) return null;
  const head = text.slice(0, colon).trim().toLowerCase().replace(/\s+/g, ' ');
  const [, kind, who, workspace] =
    /^\/?(race|split)(?: (?!in )([a-z0-9, -]{1,80}?))?(?: in ([\w.-]{1,64}))?$/.exec(head) ?? [];
  const rest = text.slice(colon + 1).trim();
  if (!kind || !rest) return null;
  const tasks = kind === 'race' ? attemptsOf(who, rest) : partsOf(rest, who);
  // names of workspaces have capitals, too
  const named = workspace && text.slice(0, colon).trim().slice(-workspace.length);
  return tasks && { kind: kind as Together['kind'], tasks, ...(named && { workspace: named }) };
}

const LONGEST_HEAD = 160;

function attemptsOf(named: string | undefined, goal: string): Together['tasks'] | null {
  const who = named?.replace(/ plans$/, '');
  const task = { goal, ...(who !== named && { plan: true as const }) };
  const count = who === undefined ? null : (COUNTS[who] ?? (/^\d$/.test(who) ? Number(who) : null));
  if (count !== null) return count < 2 || count > MOST_TOGETHER ? null : Array.from({ length: count }, () => task);
  const agents = (who ?? '').split(/, ?| and /).map((name) => AGENT_NAMES.find((agent) => agent === name.trim()));
  if (agents.length < 2 || agents.length > MOST_TOGETHER) return null;
  return agents.every((agent) => agent !== undefined) ? agents.map((agent) => ({ ...task, agent })) : null;
}

/** The parts of a goal as a list. A single one is for the model, which may find parts in it. */
function partsOf(text: string, who: string | undefined): Together['tasks'] | null {
  const agent = AGENT_NAMES.find((name) => name === who);
  if (who !== undefined && agent === undefined) return null;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const parts = (lines.length > 1 ? lines : text.split(';'))
    .map((part) => part.trim().replace(/^(?:[-*•]|\d{1,2}[.)])\s{1,4}/, ''))
    .filter(Boolean);
  return parts.length >= 2 && parts.length <= MOST_TOGETHER
    ? parts.map((goal) => ({ goal, ...(agent && { agent }) }))
    : null;
}

/** Whether a message asks for parts, listed or not. */
export const asksForParts = (text: string): boolean =>
  /^\s{0,20}\/?split(?: (?!in )[a-z]{1,20})?(?: in [\w.-]{1,64})?\s{0,5}:/i.test(text);

/**
 * What is brought in of several: the attempt with a number, or all parts. `again`: also after another one was chosen, or
 * something else was said; a bare number is not.
 */
type Choice = { attempt: number; again: boolean } | 'all';

/** The choice that a whole message is: `2`, `choose 2`, `merge`. */
export function parseChoice(text: string): Choice | null {
  const words = text.trim().toLowerCase();
  if (/^\/?merge(?: (?:them|all|the parts))?[.!]{0,3}$/.test(words)) return 'all';
  const [, word, number] = /^(\/?(?:choose|take) )?(?:attempt )?#?([1-9])[.!)]{0,3}$/.exec(words) ?? [];
  return number === undefined ? null : { attempt: Number(number), again: word !== undefined };
}

/** Parts of several attempts that an agent is to join. `again`: as with a choice. */
interface Parts {
  attempts: number[];
  goal: string;
  again: boolean;
}

/** What a whole message wants of several attempts: `1 and 2: the parser of 1, the tests of 2`, `parts of 1 and 3: …`. */
export function parseParts(text: string): Parts | null {
  const colon = text.indexOf(':');
  if (colon < 0 || colon > LONGEST_HEAD) return null;
  const head = text.slice(0, colon).trim().toLowerCase().replace(/\s+/g, ' ');
  const goal = text.slice(colon + 1).trim();
  const [, word, numbers] =
    /^\/?(parts of )?(#?[1-9](?: ?(?:,|\+|&| and| und| y| e| et| और) ?#?[1-9]){1,4})$/.exec(head) ?? [];
  const attempts = [...new Set((numbers ?? '').match(/\d/g) ?? [])].map(Number);
  return attempts.length > 1 && goal ? { attempts, goal, again: word !== undefined } : null;
}

/** The words that have parts of attempts joined. */
export const partsWords = ({ attempts, goal }: Pick<Parts, 'attempts' | 'goal'>): string =>
  `parts of ${attempts.join(' and ')}: ${goal}`;

/** The words that bring in tasks by their numbers, in this order. */
export const bringWords = ({ tasks, workspace }: Brought): string => `bring in ${tasks.join(' ')} to ${workspace}`;

interface Brought {
  tasks: string[];
  workspace: string;
}

export function parseBring(text: string): Brought | null {
  const [, numbers, workspace] =
    /^bring in (\d{1,5}(?: \d{1,5}){0,4}) to ([\w.-]{1,100})$/.exec(text.slice(0, LONGEST_HEAD).trim()) ?? [];
  return numbers && workspace ? { tasks: numbers.split(' '), workspace } : null;
}
