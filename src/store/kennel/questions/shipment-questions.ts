import type { Decision } from '../../../contracts/decision.ts';
import { outboxId } from '../../../contracts/ids.ts';
import type { QuestionAbout, Told } from '../../../contracts/shipment.ts';
import type { Source } from '../../../contracts/taint.ts';
import { questionText, toldText } from '../../../domain/shipping/texts.ts';
import { derivedId } from '../../chats/ids.ts';
import { sayTo } from '../../chats/preferences.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import { addItem } from '../../chats/threads/items.ts';
import { latestThread } from '../../chats/threads/threads.ts';
import { type Db, json } from '../../postgres/database.ts';
import { addCompleteTurn, recordNotice } from '../../turns/complete-turn.ts';
import { openedNow } from '../../turns/questions/ask.ts';
import { inputRequest, shownEvidence } from '../../turns/questions/question-payloads.ts';
import { approvalText, numbered } from '../../turns/questions/question-text.ts';
import { remember } from '../../turns/steps/transcript.ts';
import { namesOf, type Shipment } from '../shipments/shipments.ts';
import { placeOfQuestion } from './show-question.ts';

/** Messages and questions about a pull request, in its chat. */

const sourceOf = ({ repository, number }: Shipment): Source => ({
  kind: 'page',
  label: number === null ? repository : `${repository}#${number}`,
});

/** Tells something once for each key. `detail` may hold words of others. */
export async function tellOfShipment(
  db: Db,
  shipment: Shipment,
  key: string,
  what: Told,
  detail?: string,
): Promise<string> {
  const id = `out_${shipment.id}_${key.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, 80)}`;
  await recordNotice(db, {
    chatId: shipment.chat_id,
    outboxId: id,
    text: toldText(what, namesOf(shipment), detail, await sayTo(db, shipment.chat_id)),
    kind: 'notice',
    ...(detail && { sources: [sourceOf(shipment)] }),
    unasked: 'task',
  });
  return id;
}

interface Asked {
  key: string;
  about: QuestionAbout;
  detail?: string | undefined;
  /** what a yes is decided by */
  evidence?: string;
}

const shipmentQuestionId = ({ id }: Pick<Shipment, 'id'>, key: string): string =>
  derivedId('call_', id, key).replace('call_', `${id}_`);

/**
 * Asks once for each key: a turn that shows it, the question, and the outbox row, in one transaction. "yes all" does
 * not cover it, because a push and a merge are seen by others. Null where the chat has no thread.
 */
export async function askOfShipment(
  db: Db,
  shipment: Shipment,
  { key, about, detail, evidence }: Asked,
): Promise<{ questionId: string; outboxId: string; decided?: Decision } | null> {
  const questionId = shipmentQuestionId(shipment, key);
  const { turnId } = placeOfQuestion(questionId);
  const out = outboxId(turnId, questionId);
  const thread = await latestThread(db, shipment.chat_id);
  if (!thread) return null;
  return await onThread(db, thread.id, async (tx) => {
    const { now } = tx;
    const known = await now.selectFrom('questions').selectAll().where('id', '=', questionId).executeTakeFirst();
    if (known)
      return { questionId, outboxId: out, ...(known.state !== 'open' && { decided: known.decision ?? 'deny' }) };
    const kind = about === 'stuck' ? ('question' as const) : ('approval' as const);
    const say = await sayTo(now, shipment.chat_id);
    const options = about === 'stuck' ? [say('ship.tryAgain'), say('ship.leaveIt')] : [];
    const prompt = questionText(about, namesOf(shipment), detail, say);
    const asks = await openedNow(tx, evidence ?? null);
    const body = kind === 'question' ? `${prompt}\n${numbered(options)}` : approvalText({ ...asks, prompt }, say);
    await addCompleteTurn(tx, { id: turnId, summary: body }, async () => {
      const id = derivedId('item_', questionId);
      await addItem(tx, {
        id,
        turnId,
        threadId: thread.id,
        kind: 'agent_message',
        status: 'completed',
        summary: body,
        detail: body,
      });
      const sources = [sourceOf(shipment)];
      remember(tx, { id: derivedId('msg_', questionId), turnId, role: 'assistant', content: body, sources });
    });
    const at = { chat_id: shipment.chat_id, thread_id: thread.id, turn_id: turnId };
    await now
      .insertInto('outbox')
      .values({ id: out, ...at, kind: 'question', body })
      .execute();
    await now
      .insertInto('questions')
      .values({
        ...at,
        ...asks,
        id: questionId,
        kind,
        prompt,
        options: json(options),
        call_id: null,
        task_id: null,
        shipment_id: shipment.id,
        state: 'open',
        decision: null,
        answer: null,
      })
      .execute();
    tx.append(
      kind === 'question'
        ? { event: 'user_input.required', turnId, payload: inputRequest({ id: questionId, prompt, options }) }
        : {
            event: 'approval.required',
            turnId,
            payload: {
              id: questionId,
              approval_id: questionId,
              tool_name: 'ship',
              description: body,
              intent_summary: null,
              input: { about },
              ...shownEvidence(asks),
            },
          },
    );
    return { questionId, outboxId: out };
  });
}

/** What was answered to a question; null while it is open. */
export async function answerOf(
  db: Db,
  questionId: string,
): Promise<{ decision: Decision; words: string; expired: boolean } | null> {
  const question = await db
    .selectFrom('questions')
    .select(['state', 'decision', 'answer', 'decided_by'])
    .where('id', '=', questionId)
    .executeTakeFirst();
  // a question that is gone, with its thread, is decided by nobody
  if (!question) return { decision: 'deny', words: '', expired: true };
  if (question.state === 'open') return null;
  const answered = question.state === 'answered' && question.decided_by !== null;
  return {
    decision: answered ? (question.decision ?? 'deny') : 'deny',
    words: answered ? (question.answer ?? '') : '',
    expired: !answered,
  };
}

/** Ends the questions of a shipment that is over, because nobody waits for their answers. */
export async function closeShipmentQuestions(db: Db, shipmentId: string): Promise<void> {
  await db
    .updateTable('questions')
    .set({ state: 'cancelled', decided_at: new Date() })
    .where('shipment_id', '=', shipmentId)
    .where('state', '=', 'open')
    .execute();
}
