import type { Selectable } from 'kysely';
import type { Danger } from '../../../contracts/conversation.ts';
import type { DecidedBy, Decision } from '../../../contracts/decision.ts';
import type { Sink } from '../../../contracts/taint.ts';
import { secondAsking } from '../../chats/messages/outgoing.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import type { QuestionTable } from '../../schema/tables/turns.ts';

export type Question = Selectable<QuestionTable>;

/** The open question of a thread: the one with this id, else the latest. */
export async function openQuestion(tx: Tx, threadId: string, id?: string): Promise<Question | undefined> {
  let query = tx.selectFrom('questions').selectAll().where('thread_id', '=', threadId).where('state', '=', 'open');
  if (id !== undefined) query = query.where('id', '=', id);
  return await query.orderBy('asked_at', 'desc').limit(1).executeTakeFirst();
}

/** The thread of an approval or of a plan, open or not. */
export const threadOfApproval = async (db: Db, id: string): Promise<string | undefined> =>
  (
    await db
      .selectFrom('questions')
      .select('thread_id')
      .where('id', '=', id)
      .where('kind', 'in', ['approval', 'plan'])
      .executeTakeFirst()
  )?.thread_id;

/** The stored decision; null while the question is open, or when it was never asked. */
export async function decisionOf(db: Db, id: string): Promise<Decision | null> {
  const question = await db
    .selectFrom('questions')
    .select(['state', 'decision'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (!question || question.state === 'open') return null;
  return question.decision ?? 'deny';
}

export const findQuestion = (db: Db, id: string): Promise<Question | undefined> =>
  db.selectFrom('questions').selectAll().where('id', '=', id).executeTakeFirst();

/** An approval counts only with who gave it and when. */
export const isAllowed = ({
  state,
  decision,
  decided_by,
  decided_at,
}: Pick<Question, 'state' | 'decision' | 'decided_by' | 'decided_at'>): boolean =>
  state === 'answered' && decision === 'allow' && decided_by !== null && decided_at !== null;

/** Who allowed a call, when somebody was asked about it. */
export async function approverOfCall(db: Db, callId: string): Promise<DecidedBy | null> {
  const question = await db
    .selectFrom('questions')
    .selectAll()
    .where('id', '=', callId)
    .where('kind', '=', 'approval')
    .executeTakeFirst();
  return question && isAllowed(question) ? question.decided_by : null;
}

/** All open questions of a thread, in the order of asking. */
export const openQuestions = (tx: Db | Tx, threadId: string): Promise<Question[]> =>
  tx
    .selectFrom('questions')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('state', '=', 'open')
    .orderBy('asked_at')
    .orderBy('number')
    .execute();

/** Open questions of other chats that the chat of this thread shows, too; the latest first. */
export async function askedHereToo(db: Db, threadId: string): Promise<Question[]> {
  const asked = await db
    .selectFrom('questions')
    .selectAll()
    .where('also_in', '=', db.selectFrom('threads').select('chat_id').where('id', '=', threadId))
    .where('state', '=', 'open')
    .orderBy('asked_at', 'desc')
    .execute();
  if (asked.length === 0) return asked;
  const ids = asked.map(({ id, turn_id }) => secondAsking(turn_id, id));
  const sent = await db.selectFrom('outbox').select('id').where('id', 'in', ids).where('state', '=', 'sent').execute();
  return asked.filter((_, at) => sent.some(({ id }) => id === ids[at]));
}

/** How long a turn or a coding task has waited for answers of people, ms. Questions that were open at once count once. */
export async function waitedForPeople(db: Db | Tx, of: { turnId: string } | { taskId: string }): Promise<number> {
  const questions = db.selectFrom('questions').select(['asked_at', 'decided_at']).orderBy('asked_at');
  const rows = await ('turnId' in of
    ? questions.where('turn_id', '=', of.turnId)
    : questions.where('task_id', '=', of.taskId)
  ).execute();
  let waited = 0;
  let until = 0;
  for (const { asked_at, decided_at } of rows) {
    const end = decided_at?.getTime() ?? Date.now();
    waited += Math.max(0, end - Math.max(asked_at.getTime(), until));
    until = Math.max(until, end);
  }
  return waited;
}

/** True while a thread waits for an answer. */
export async function isAsked(db: Db | Tx, threadId: string, questionsOnly = false): Promise<boolean> {
  let query = db.selectFrom('questions').select('id').where('thread_id', '=', threadId).where('state', '=', 'open');
  if (questionsOnly) query = query.where('kind', '=', 'question');
  return (await query.limit(1).executeTakeFirst()) !== undefined;
}

/** True while a message in the chat of this thread may be an answer, also to a question that another channel asked. */
export const mayBeAnswered = async (db: Db, threadId: string): Promise<boolean> =>
  (await isAsked(db, threadId)) || (await askedHereToo(db, threadId)).length > 0;

/**
 * The danger of the call that an approval asks for, as of when the model made it, and the sinks for which text of
 * others makes it a question.
 */
export async function dangerOf(
  tx: Tx,
  question: Question,
): Promise<{ danger: Danger; tainted: boolean; asksAnyway: boolean; grantable: readonly Sink[] }> {
  // what an agent has made after it read a page goes out; only this question of a pull request has evidence
  if (question.shipment_id && question.evidence !== null)
    return { danger: 'DANGEROUS', tainted: true, asksAnyway: true, grantable: ['push', 'publish'] };
  // we cannot rate what a coding task wants to do
  if (!question.call_id) return { danger: 'DANGEROUS', tainted: false, asksAnyway: false, grantable: [] };
  const { danger, taint } = await tx
    .selectFrom('calls')
    .select(['danger', 'taint'])
    .where('id', '=', question.call_id)
    .executeTakeFirstOrThrow();
  const asks = taint?.asks ?? [];
  // for a deletion or a command the rule of its danger holds: the owner, or the person who asked for it
  const tainted = asks.some((sink) => sink !== 'delete' && sink !== 'command');
  return { danger, tainted, asksAnyway: asks.length > 0, grantable: taint?.each ? [] : asks };
}

export const threadOf = async (db: Db, questionId: string): Promise<string | undefined> =>
  (await db.selectFrom('questions').select('thread_id').where('id', '=', questionId).executeTakeFirst())?.thread_id;
