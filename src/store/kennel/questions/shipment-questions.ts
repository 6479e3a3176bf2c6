import type { Decision } from '../../../contracts/decision.ts';
import type { QuestionAbout, Told } from '../../../contracts/shipment.ts';
import type { Source } from '../../../contracts/taint.ts';
import { questionText, toldText } from '../../../domain/shipping/texts.ts';
import { derivedId } from '../../chats/ids.ts';
import { sayTo } from '../../chats/preferences.ts';
import type { Db } from '../../postgres/database.ts';
import { recordNotice } from '../../turns/complete-turn.ts';
import { namesOf, type Shipment } from '../shipments/shipments.ts';
import { askOfWork } from './work-questions.ts';

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
 * Asks once for each key. "yes all" does not cover it, because a push and a merge are seen by others. Null where the
 * chat has no thread.
 */
export async function askOfShipment(
  db: Db,
  shipment: Shipment,
  { key, about, detail, evidence }: Asked,
): Promise<{ questionId: string; outboxId: string; decided?: Decision } | null> {
  const stuck = about === 'stuck';
  const say = await sayTo(db, shipment.chat_id);
  return await askOfWork(db, {
    id: shipmentQuestionId(shipment, key),
    chatId: shipment.chat_id,
    kind: stuck ? 'question' : 'approval',
    prompt: questionText(about, namesOf(shipment), detail, say),
    options: stuck ? [say('ship.tryAgain'), say('ship.leaveIt')] : [],
    evidence,
    sources: [sourceOf(shipment)],
    shipmentId: shipment.id,
    tool: { name: 'ship', input: { about } },
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
