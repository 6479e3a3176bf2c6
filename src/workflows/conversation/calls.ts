import { ActivityFailure, CancellationScope, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import { ASK_USER, type AskResult, type CallVerdict, type ThinkResult } from '../../contracts/conversation.ts';
import type { Decision } from '../../contracts/decision.ts';
import { policyOf } from '../../domain/consent/policy.ts';
import { awaitAnswer, decidedBySignalAlone, type PromiseSequence, readDecision } from '../shared/await-answer.ts';
import { failureOf, hostIsAway } from '../shared/failure-of.ts';
import { actAs, previewOn, records } from '../shared/policies.ts';
import { startTask } from '../shared/start-task.ts';
import type { Turn } from './chat-state.ts';

/**
 * Runs the calls of one model step in parallel, within the limit, while questions wait. Returns when all have settled.
 */
export async function runCalls(turn: Turn, result: ThinkResult): Promise<void> {
  const calls = result.calls.filter((call) => !call.refused);
  // a question takes no slot: it may wait for days while other calls go on
  const asking = calls.filter((call) => route(call, result) === 'ask');
  const queue = calls.filter((call) => route(call, result) === 'run');
  const refused = calls.filter((call) => route(call, result) === 'refuse');
  for (const call of refused)
    await records.recordUnknown(call.name, {
      callId: call.callId,
      why: `Refused by policy: ${call.name} is ${call.danger} and this chat is ${result.autonomy}.`,
    });
  // most steps make one call, which needs no scheduling
  if (queue.length === 1 && asking.length === 0) return await runCall(turn, queue[0]!);
  const lane = async () => {
    for (let call = queue.shift(); call; call = queue.shift()) await runCall(turn, call);
  };
  const lanes = Array.from({ length: Math.min(turn.limits.parallelTools, queue.length) }, lane);
  // one question at a time: a person answers in order, and "yes" means the latest question
  const questions = async () => {
    for (const call of asking) await turn.clock.pause(runAsking(turn, call));
  };
  const settled = await Promise.allSettled([...lanes, questions()]);
  const failed = settled.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Steps of earlier releases carry no verdict, so it is worked out from their danger. */
const route = (call: CallVerdict, result: ThinkResult): 'run' | 'ask' | 'refuse' =>
  call.policy ?? policyOf(call, result.autonomy, result.autoApprove);

/** Asks the person about a call, and waits as long as it takes. */
function* askAbout(turn: Turn, call: CallVerdict): PromiseSequence<Decision | undefined> {
  const { turnId, threadId, waits, board, decisions } = turn;
  const { callId } = call;
  const kind = call.name === ASK_USER ? 'question' : 'approval';
  const what = kind === 'question' ? 'an answer' : `approval of ${call.name}`;
  if (kind === 'approval' && call.preview && call.queue)
    yield previewOn(call.queue, { callId, turnId, threadId }).catch((error) => {
      if (isCancellation(error)) throw error;
    });
  const { questionId, outboxId, title, decided } = (yield records.openQuestion(what, {
    callId,
    turnId,
    threadId,
    kind,
  })) as AskResult;
  if (decidedBySignalAlone(decisions, questionId, decided)) yield readDecision(decisions, questionId);
  if (decisions[questionId] === undefined) {
    turn.send(outboxId);
    const waited = title ? `${what}: ${title}` : what;
    board.waitsFor = kind;
    board.show('waiting', `waiting for ${waited}`, { turnId, waitingFor: waited });
    yield* awaitAnswer(
      { id: questionId, decisions },
      {
        what: waited,
        waits,
        remindInMs: waits.remindAfterMs,
        remind: () => records.remind(questionId),
        send: turn.send,
        expire: () => records.expire(questionId),
        unanswered: kind === 'approval' ? 'deny' : 'answered',
      },
    );
    board.show('working', 'going on after the answer', { turnId, waitingFor: null });
  }
  const decision = decisions[questionId];
  delete decisions[questionId];
  return decision;
}

/** Asks first. If the call is allowed, it runs. */
async function runAsking(turn: Turn, call: CallVerdict): Promise<void> {
  const promises = askAbout(turn, call);
  let next = promises.next();
  while (!next.done) next = promises.next(await next.value);
  if (next.value === 'allow') await runCall(turn, call);
}

async function runCall(turn: Turn, call: CallVerdict): Promise<void> {
  const { turnId, threadId, board } = turn;
  board.show('working', call.summary, { turnId, waitingFor: null });
  try {
    const { task } = await actAs(call, { callId: call.callId, turnId, threadId });
    // also when the turn is being stopped: the task is stored, and without a workflow it would wait for ever
    if (task) await CancellationScope.nonCancellable(() => startTask(task));
  } catch (error) {
    if (isCancellation(error)) throw error;
    if (hostIsAway(error))
      return await records.recordUnknown(call.name, {
        callId: call.callId,
        why: 'The machine that has this workspace does not answer. Nothing was done.',
      });
    // the model must know that a tool could not run; the turn goes on
    const lost = error instanceof ActivityFailure && error.cause instanceof TimeoutFailure;
    await records.recordUnknown(call.name, {
      callId: call.callId,
      ...(!lost && { why: `${call.name} could not be run: ${failureOf(error).message}` }),
    });
  }
}
