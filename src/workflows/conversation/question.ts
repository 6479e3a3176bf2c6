import { isCancellation } from '@temporalio/workflow';
import { ASK_USER, type AskResult, type CallVerdict } from '../../contracts/conversation.ts';
import type { Decision } from '../../contracts/decision.ts';
import { awaitAnswer, decidedBySignalAlone, type PromiseSequence, readDecision } from '../shared/await-answer.ts';
import { previewOn, records } from '../shared/policies.ts';
import type { Turn } from './turn-state.ts';

/** Asks the person about a call, and waits as long as it takes. */
export function* askAbout(turn: Turn, call: CallVerdict): PromiseSequence<Decision | undefined> {
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
