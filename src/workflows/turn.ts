import { ActivityFailure, ApplicationFailure, CancellationScope, condition, isCancellation, patched, TimeoutFailure } from '@temporalio/workflow';
import type { CallVerdict, ThinkResult, TurnLimits, Waits } from '../contracts/conversation.ts';
import type { Decision } from '../contracts/decision.ts';
import { policyOf } from '../domain/consent/policy.ts';
import { type FailureType, failures, isFailureType } from '../domain/failures.ts';
import { breachText, turnBreach, type Used } from '../domain/model/budgets.ts';
import type { Board } from './board.ts';
import { DECISION_ON_RECORD, onRecord, readDecision } from './decisions.ts';
import { actAs, previewOn, records, thinkAs } from './policies.ts';
import { hostIsAway, startTask } from './task-policies.ts';

export interface TurnContext {
  turnId: string;
  threadId: string;
  limits: TurnLimits;
  waits: Waits;
  board: Board;
  /** decisions that have arrived, by question id */
  decisions: Record<string, Decision>;
  /** queues an outbox row for sending */
  send(outboxId: string): void;
}

/** A turn: model step, tool calls, model step, ..., answer. Ends when an answer is stored; throws a failure of the vocabulary, or a cancellation. */
export async function runTurn(turn: TurnContext): Promise<void> {
  const { turnId, threadId, limits, board } = turn;
  const used: Required<Used> = { steps: 0, toolCalls: 0, tokens: 0, microUsd: 0, unpriced: 0, wallMs: 0 };
  const clock = new WorkClock();
  board.thread = threadId;
  for (;;) {
    used.wallMs = clock.elapsed();
    const breach = turnBreach(limits, used);
    if (breach) throw ApplicationFailure.nonRetryable(breachText(breach), 'BudgetExceeded');
    used.steps += 1;
    board.step = used.steps;
    board.show('working', `model step ${used.steps}`, { turnId, waitingFor: null });
    const result = await thinkAs(`model step ${used.steps}`, { turnId, threadId, step: used.steps });
    clock.skip(result.waitedMs ?? 0);
    used.tokens += result.usage.inputTokens + result.usage.outputTokens;
    used.microUsd += result.usage.microUsd;
    used.unpriced += result.usage.unpriced ?? 0;
    board.tokens += result.usage.inputTokens + result.usage.outputTokens;
    board.view.spentMicroUsd += result.usage.microUsd;
    if (result.outboxId) turn.send(result.outboxId);
    if (result.next === 'closed') return;
    used.toolCalls += result.calls.length;
    await runCalls(turn, result, clock);
  }
}

/** Time at work: waits for a person, and for a limit of the model to open, do not count against the budget. */
class WorkClock {
  #begun = Date.now();
  #waited = 0;
  elapsed(): number {
    return Date.now() - this.#begun - this.#waited;
  }
  skip(ms: number): void {
    this.#waited += ms;
  }
  async pause<T>(wait: Promise<T>): Promise<T> {
    const from = Date.now();
    try {
      return await wait;
    } finally {
      this.#waited += Date.now() - from;
    }
  }
}

/** Runs the calls of one step, side by side within the limit; questions wait beside them. All have settled when this returns. */
async function runCalls(turn: TurnContext, result: ThinkResult, clock: WorkClock): Promise<void> {
  const calls = result.calls.filter((call) => !call.refused);
  // a question holds no slot: it may wait for days while the other calls go on
  const asking = calls.filter((call) => route(call, result) === 'ask');
  const queue = calls.filter((call) => route(call, result) === 'run');
  const refused = calls.filter((call) => route(call, result) === 'refuse');
  for (const call of refused)
    await records.recordUnknown(call.name, {
      callId: call.callId,
      why: `Refused by policy: ${call.name} is ${call.danger} and this chat is ${result.autonomy}.`,
    });
  // most steps make one call: no lanes, no waiting for others
  if (queue.length === 1 && asking.length === 0) return await runCall(turn, queue[0]!);
  const lane = async () => {
    for (let call = queue.shift(); call; call = queue.shift()) await runCall(turn, call);
  };
  const lanes = Array.from({ length: Math.min(turn.limits.parallelTools, queue.length) }, lane);
  // one question after the other: a person answers them in order, and "yes" means the one that was asked last
  const questions = async () => {
    for (const call of asking) await clock.pause(runAsking(turn, call));
  };
  const settled = await Promise.allSettled([...lanes, questions()]);
  const failed = settled.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Steps of earlier releases carry no verdict: it follows from what they carry. */
const route = (call: CallVerdict, result: ThinkResult): 'run' | 'ask' | 'refuse' => call.policy ?? policyOf(call, result.autonomy, result.autoApprove);

async function runCall(turn: TurnContext, call: CallVerdict): Promise<void> {
  const { turnId, threadId, board } = turn;
  board.show('working', call.summary, { turnId, waitingFor: null });
  try {
    const { task } = await actAs(call.summary, call.effect, { callId: call.callId, turnId, threadId }, call.queue);
    // also when the turn is being stopped: the task is on record, and its row must not wait for a workflow for ever
    if (task) await CancellationScope.nonCancellable(() => startTask(task));
  } catch (error) {
    if (isCancellation(error)) throw error;
    if (hostIsAway(error))
      return await records.recordUnknown(call.name, { callId: call.callId, why: 'The machine that has this workspace does not answer. Nothing was done.' });
    // a tool that could not be run is something the model must know, not the end of the turn
    const lost = error instanceof ActivityFailure && error.cause instanceof TimeoutFailure;
    await records.recordUnknown(call.name, { callId: call.callId, ...(!lost && { why: `${call.name} could not be run: ${failureOf(error).message}` }) });
  }
}

/** Asks, waits for as long as it takes, reminds once, expires by policy; an allowed call then runs. */
async function runAsking(turn: TurnContext, call: CallVerdict): Promise<void> {
  const { turnId, threadId, waits, board, decisions } = turn;
  const kind = call.name === 'ask_user' ? 'question' : 'approval';
  const what = kind === 'question' ? 'an answer' : `approval of ${call.name}`;
  if (kind === 'approval' && call.preview && call.queue)
    await previewOn(call.queue, { callId: call.callId, turnId, threadId }).catch((error) => {
      if (isCancellation(error)) throw error;
    });
  const asked = await records.openQuestion(what, { callId: call.callId, turnId, threadId, kind });
  const { questionId } = asked;
  const decided = () => decisions[questionId] !== undefined;
  if (asked.decided) decisions[questionId] = asked.decided;
  else if (decided() && patched(DECISION_ON_RECORD)) await readDecision(decisions, questionId);
  if (!decided()) {
    turn.send(asked.outboxId);
    const waited = asked.title ? `${what}: ${asked.title}` : what;
    board.waitsFor = kind;
    board.show('waiting', `waiting for ${waited}`, { turnId, waitingFor: waited });
    const first = { ms: waits.remindAfterMs, from: Date.now(), summary: `waiting for ${waited} (reminds once)` };
    let answered = await condition(decided, first.ms, first);
    if (answered && patched(DECISION_ON_RECORD)) answered = await onRecord(decisions, questionId, first);
    if (!answered) {
      const reminder = await records.remind(questionId);
      if (reminder) turn.send(reminder);
      const second = { ms: Math.max(waits.expireAfterMs - waits.remindAfterMs, 1), from: Date.now(), summary: `waiting for ${waited} (then expires)` };
      answered = await condition(decided, second.ms, second);
      if (answered && patched(DECISION_ON_RECORD)) answered = await onRecord(decisions, questionId, second);
    }
    if (!answered) {
      if (await records.expire(questionId)) decisions[questionId] = kind === 'approval' ? 'deny' : 'answered';
      else {
        await condition(decided, 60_000, { summary: 'an answer came at the last moment' });
        if (patched(DECISION_ON_RECORD)) await readDecision(decisions, questionId);
      }
    }
    board.show('working', 'going on after the answer', { turnId, waitingFor: null });
  }
  const decision = decisions[questionId];
  delete decisions[questionId];
  if (decision === 'allow') await runCall(turn, call);
}

/** Type and sentence of whatever ended a turn, in the closed vocabulary. */
export function failureOf(error: unknown): { type: FailureType; message: string } {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const type = cause.type && isFailureType(cause.type) ? cause.type : 'Internal';
    return { type, message: cause.message || failures[type].tell };
  }
  if (cause instanceof TimeoutFailure) return { type: 'Internal', message: 'A step took too long and was given up.' };
  return { type: 'Internal', message: `${failures.Internal.tell} (${cause instanceof Error ? cause.message : String(cause)})` };
}
