import { MINUTE } from '../time.ts';
import { DAYS, OVERLOAD, OWN_BUDGET, PERSON, PERSON_WITHOUT_TIME, WAIT, WINDOW_BESIDE_MONEY } from './limit-phrases.ts';
import { untilClock, waitInWords } from './reset-words.ts';

/**
 * What stands behind the failure of a coding agent. `wait`: it opens by itself; `waitMs` is null when no time is named.
 * `overload`: the provider has too much to do, which is over in minutes. `person`: money, a plan or a log-in is
 * missing, so that no wait helps.
 */
type AgentLimit = { kind: 'wait'; waitMs: number | null; overload: boolean } | { kind: 'person' };

const LONGEST_OVERLOAD_MS = 15 * MINUTE;

/** Sentences of a run have 1,000 characters at most. */
const READ = 2_000;

/**
 * Reads the sentence that ended a run (`kennel/runner/profile/profile.ts`); null when it speaks of no limit. `zone` is
 * the one of the agent's process: Codex names a clock without a zone. Only what an agent says at the beginning counts,
 * because the rest may be text of others.
 */
export function limitInFailure(sentence: string, now: number, zone = 'UTC'): AgentLimit | null {
  const { texts, status, category } = readFailure(sentence);
  if (texts.some((text) => OWN_BUDGET.test(text))) return null;
  const some = (phrases: readonly RegExp[]) => texts.some((text) => phrases.some((phrase) => phrase.test(text)));
  const timed = (overload: boolean): AgentLimit => ({
    kind: 'wait',
    waitMs: waitIn(texts, now, zone, overload),
    overload,
  });

  if (some(PERSON)) return besideMoney(texts, now, zone);
  if (some([PERSON_WITHOUT_TIME])) {
    const wait = timed(false);
    return wait.kind === 'wait' && wait.waitMs === null ? { kind: 'person' } : wait;
  }
  if (PERSON_STATUS.has(status) || PERSON_KINDS.has(category)) return { kind: 'person' };
  if (status === 503 || status === 529 || category === 'overloaded' || some(OVERLOAD)) return timed(true);
  if (status === 429 || category === 'rate_limit' || category === 'usage limit' || some(WAIT)) return timed(false);
  return null;
}

const PERSON_STATUS: ReadonlySet<number | null> = new Set([401, 402, 403]);
/** `errorKind` of Claude Code's adapter */
const PERSON_KINDS: ReadonlySet<string | null> = new Set([
  'billing_error',
  'authentication_failed',
  'oauth_org_not_allowed',
  'account_on_hold',
  'verification_required',
]);

interface FailureParts {
  /** what the agent says, without what our runner puts around it; then the message inside of it, if there is one */
  texts: string[];
  /** HTTP status of the model call */
  status: number | null;
  category: string | null;
}

/**
 * Takes the sentence apart: `The agent's request failed (code): text (category)`, `text (category)`, or `text
 * (status)`.
 */
export function readFailure(sentence: string): FailureParts {
  const line = `${sentence.slice(0, READ)}${sentence.slice(Math.max(READ, sentence.length - 60))}`
    .replace(/\s+/g, ' ')
    .replaceAll('’', "'")
    .trim();
  const asked = /^The agent's request failed \((-?\d{1,6})\): (?:Internal error(?:: |(?= \()))?/.exec(line);
  const end = / \((?:(\d{3})|([a-z_]{1,40}|usage limit))\)$/.exec(line);
  const text = line.slice(asked?.[0].length ?? 0, end?.index).trim();
  const front = STATUS_IN_FRONT.map((form) => form.exec(text)).find((found) => found !== null);
  // Copilot CLI has the status at the end. Sentences of our runner begin with "The", and a number in them is something
  // else.
  const last = asked || line.startsWith('The ') ? undefined : end?.[1];
  const numbers = [asked?.[1], last, front?.[1]].map(Number).filter((number) => number >= 300 && number <= 599);
  const inner = front ? text.slice(front[0].length) : text;
  const message = inner.startsWith('{') ? /"message": ?"([^"\\]{1,600})/.exec(inner)?.[1] : undefined;
  return {
    texts: [text, inner, ...(message ? [message] : [])],
    status: numbers.at(-1) ?? null,
    category: end?.[2] ?? null,
  };
}

const STATUS_IN_FRONT = [
  // Claude Code
  /^API Error: (?:(\d{3})(?!\d):? ?)?/,
  // Codex
  /^unexpected status (\d{3}) [^:]{1,60}: /,
  /^exceeded retry limit, last status: (\d{3})(?!\d)/,
  // Copilot CLI, which repeats it at the end
  /^(?:Failed to get response from the AI model; retried .{1,80} Last error: )?\d{3} (?=.{0,1000}$)/,
];

function waitIn(texts: readonly string[], now: number, zone: string, overload: boolean): number | null {
  const text = texts[0]!;
  const day = DAYS.find(([says]) => says.test(text));
  const wait = day ? untilClock('12am', now, day[1]) : waitInWords(text, now, zone);
  if (wait === undefined || (overload && wait > LONGEST_OVERLOAD_MS)) return null;
  return Math.ceil(wait);
}

function besideMoney(texts: readonly string[], now: number, zone: string): AgentLimit {
  const [, credits, window] = WINDOW_BESIDE_MONEY.exec(texts[0]!) ?? [];
  const wait = waitInWords(credits ?? window ?? '', now, zone);
  return wait === undefined ? { kind: 'person' } : { kind: 'wait', waitMs: Math.ceil(wait), overload: false };
}
