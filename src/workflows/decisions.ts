import { condition } from '@temporalio/workflow';
import type { Decision } from '../contracts/decision.ts';
import { records } from './policies.ts';

/** Runs that began before this go by the signal alone. */
export const DECISION_ON_RECORD = '2026-11-decision-on-record';

/**
 * Replaces what a signal said by what the store says. Anybody who reaches the Temporal server can send a signal; a decision that the
 * store does not have is none, and the question stays open.
 */
export async function readDecision(decisions: Record<string, Decision>, questionId: string): Promise<boolean> {
  const stored = await records.decisionOf(questionId);
  if (stored === null) delete decisions[questionId];
  else decisions[questionId] = stored;
  return stored !== null;
}

/** A wait for a decision: it began at `from` and may take `ms`. */
export interface Wait {
  from: number;
  ms: number;
  summary: string;
}

/**
 * True when the decision that was signalled is on record. When it is not, the wait goes on for what is left of it; false when that
 * has passed. `or`: something else that ends the wait.
 */
export async function onRecord(decisions: Record<string, Decision>, questionId: string, wait: Wait, or: () => boolean = () => false): Promise<boolean> {
  const signalled = () => decisions[questionId] !== undefined || or();
  for (;;) {
    if (or() || (await readDecision(decisions, questionId))) return true;
    const left = wait.from + wait.ms - Date.now();
    if (left <= 0 || !(await condition(signalled, left, { summary: wait.summary }))) return false;
  }
}
