import { condition, patched } from '@temporalio/workflow';
import type { Waits } from '../../contracts/conversation.ts';
import type { Decision } from '../../contracts/decision.ts';
import { records } from './policies.ts';

/** Runs from before this change trust the signal alone. */
const DECISION_ON_RECORD = '2026-11-decision-on-record';
/** When an answer comes as its question expires, its signal arrives within this time. */
const LAST_MOMENT_MS = 60_000;

/** Decisions that have arrived, by question id. */
export type Decisions = Record<string, Decision>;

/** A wait for a decision, from `from` for at most `ms`. */
interface Wait {
  from: number;
  ms: number;
  summary: string;
}

const waitOf = (ms: number, summary: string): Wait => ({ ms, from: Date.now(), summary });

/** A question that waits for a person. */
export interface Question {
  id: string;
  decisions: Decisions;
  /** another reason to stop waiting: the task is cancelled */
  isOver?: () => boolean;
}

const isSettled = ({ id, decisions, isOver }: Question): boolean => decisions[id] !== undefined || isOver?.() === true;

/**
 * Records what the store said when the question was opened. True when only a signal has decided it, so the store must
 * be asked again.
 */
export function decidedBySignalAlone(decisions: Decisions, questionId: string, stored: Decision | undefined): boolean {
  if (stored) decisions[questionId] = stored;
  return !stored && decisions[questionId] !== undefined && patched(DECISION_ON_RECORD);
}

/**
 * Replaces a signalled decision by the stored one. Anybody who can reach the Temporal server can send a signal, so a
 * decision that the store does not have does not count. The question then stays open.
 */
export async function readDecision(decisions: Decisions, questionId: string): Promise<boolean> {
  const stored = await records.decisionOf(questionId);
  if (stored === null) delete decisions[questionId];
  else decisions[questionId] = stored;
  return stored !== null;
}

/**
 * True when the signalled decision is stored. Otherwise the wait continues for the time that is left; false when none
 * is left.
 */
async function onRecord(question: Question, wait: Wait): Promise<boolean> {
  for (;;) {
    if (question.isOver?.() || (await readDecision(question.decisions, question.id))) return true;
    const left = wait.from + wait.ms - Date.now();
    if (left <= 0 || !(await condition(() => isSettled(question), left, { summary: wait.summary }))) return false;
  }
}

/** Reminder and expiry of an open question. */
interface Patience {
  /** what is waited for, for operators */
  what: string;
  waits: Waits;
  /** shorter than `waits.remindAfterMs` when part of that time has passed */
  remindInMs: number;
  /** outbox id of the reminder; null when the question was decided meanwhile */
  remind(): Promise<string | null>;
  send(outboxId: string): void;
  /** false when an answer came first */
  expire(): Promise<boolean>;
  /** the decision that an expired question counts as */
  unanswered: Decision;
}

/**
 * Yields the promises to await one after the other: `for (let next = promises.next(); !next.done; ) next =
 * promises.next(await next.value)`. An async function would add one link to the chain of promises, and the commands of
 * recorded runs would come in another order.
 */
export type PromiseSequence<T> = Generator<Promise<unknown>, T, unknown>;

/** Waits for an answer for `ms`; false when none came. */
export function* answerWithin(question: Question, ms: number, summary: string): PromiseSequence<boolean> {
  const wait = waitOf(ms, summary);
  if (!(yield condition(() => isSettled(question), wait.ms, wait))) return false;
  return !patched(DECISION_ON_RECORD) || (yield onRecord(question, wait)) === true;
}

/**
 * Waits for the answer at a budget, at the longest until the budget begins again. Who goes on then looks at the store,
 * which knows what was allowed. `opensAt`: ms since the epoch.
 */
export function* awaitBudget(
  question: Question,
  opensAt: number | null,
  patience: Pick<Patience, 'waits' | 'remind' | 'send' | 'expire'>,
): PromiseSequence<void> {
  const { waits, remind } = patience;
  const opensInMs = opensAt === null ? Number.POSITIVE_INFINITY : Math.max(opensAt - Date.now(), 1_000);
  const remindInMs = Math.min(waits.remindAfterMs, opensInMs);
  yield* awaitAnswer(question, {
    ...patience,
    what: 'an answer: may more be spent?',
    waits: { remindAfterMs: remindInMs, expireAfterMs: Math.min(waits.expireAfterMs, opensInMs) },
    remindInMs,
    remind: () => (remindInMs === opensInMs ? Promise.resolve(null) : remind()),
    unanswered: 'deny',
  });
}

/**
 * Waits for an answer as long as it takes: reminds once, then lets the question expire. Afterwards the question is
 * decided, or the wait is over.
 */
export function* awaitAnswer(question: Question, patience: Patience): PromiseSequence<void> {
  const { what, waits, remindInMs } = patience;
  const expireInMs = Math.max(waits.expireAfterMs - waits.remindAfterMs, 1);
  if (yield* answerWithin(question, remindInMs, `waiting for ${what} (reminds once)`)) return;
  const reminder = (yield patience.remind()) as string | null;
  if (reminder) patience.send(reminder);
  if (yield* answerWithin(question, expireInMs, `waiting for ${what} (then expires)`)) return;
  if (yield patience.expire()) question.decisions[question.id] = patience.unanswered;
  else {
    yield condition(() => isSettled(question), LAST_MOMENT_MS, { summary: 'an answer came at the last moment' });
    if (patched(DECISION_ON_RECORD)) yield readDecision(question.decisions, question.id);
  }
}
