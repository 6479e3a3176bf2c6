import { condition, patched } from '@temporalio/workflow';
import type { Waits } from '../../contracts/conversation.ts';
import type { Decision } from '../../contracts/decision.ts';
import { records } from './policies.ts';

/** Runs that began before this go by the signal alone. */
const DECISION_ON_RECORD = '2026-11-decision-on-record';
/** An answer that came while its question expired is on its way: its signal is here after this long at most. */
const LAST_MOMENT_MS = 60_000;

/** Decisions that have arrived, by question id. */
export type Decisions = Record<string, Decision>;

/** A wait for a decision: it began at `from` and may take `ms`. */
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
  /** something else that ends the wait: the task is cancelled */
  isOver?: () => boolean;
}

const isSettled = ({ id, decisions, isOver }: Question): boolean => decisions[id] !== undefined || isOver?.() === true;

/** Notes what the store said when the question was opened. True when only a signal has decided it: the store is to be asked again. */
export function decidedBySignalAlone(decisions: Decisions, questionId: string, stored: Decision | undefined): boolean {
  if (stored) decisions[questionId] = stored;
  return !stored && decisions[questionId] !== undefined && patched(DECISION_ON_RECORD);
}

/**
 * Replaces what a signal said by what the store says. Anybody who reaches the Temporal server can send a signal. A decision that the
 * store does not have does not count, and the question stays open.
 */
export async function readDecision(decisions: Decisions, questionId: string): Promise<boolean> {
  const stored = await records.decisionOf(questionId);
  if (stored === null) delete decisions[questionId];
  else decisions[questionId] = stored;
  return stored !== null;
}

/** True when the decision that was signalled is on record. When it is not, the wait goes on for what is left of it; false when that has passed. */
async function onRecord(question: Question, wait: Wait): Promise<boolean> {
  for (;;) {
    if (question.isOver?.() || (await readDecision(question.decisions, question.id))) return true;
    const left = wait.from + wait.ms - Date.now();
    if (left <= 0 || !(await condition(() => isSettled(question), left, { summary: wait.summary }))) return false;
  }
}

/** What happens to a question while nobody answers it. */
export interface Patience {
  /** for operators: what is waited for */
  what: string;
  waits: Waits;
  /** shorter than `waits.remindAfterMs` where part of that has passed */
  remindInMs: number;
  /** outbox id of the reminder; null when the question was decided meanwhile */
  remind(): Promise<string | null>;
  send(outboxId: string): void;
  /** false when an answer came first */
  expire(): Promise<boolean>;
  /** what an expired question counts as */
  unanswered: Decision;
}

/**
 * What is to be awaited, one promise after the other: `for (let step = steps.next(); !step.done; ) step = steps.next(await step.value)`.
 * An async function would put one more link into the chain of promises, and the commands of recorded runs would come in another order.
 */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>;

/** Waits for an answer for so long and no longer; false when none came. */
export function* answerWithin(question: Question, ms: number, summary: string): Steps<boolean> {
  const wait = waitOf(ms, summary);
  if (!(yield condition(() => isSettled(question), wait.ms, wait))) return false;
  return !patched(DECISION_ON_RECORD) || (yield onRecord(question, wait)) === true;
}

/** Waits for an answer for as long as it takes: reminds once, and lets the question expire. Afterwards it has a decision, or is over. */
export function* awaitAnswer(question: Question, patience: Patience): Steps<void> {
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
