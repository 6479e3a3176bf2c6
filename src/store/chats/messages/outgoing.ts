import { baselineOfQuestion, outboxId as outboxIdOf } from '../../../contracts/ids.ts';
import { argumentsEvidence } from '../../../domain/text/evidence.ts';
import { languageOf } from '../../../domain/texts/language.ts';
import type { Db } from '../../postgres/database.ts';

/** An outbox row that is about to be sent on a channel without our screen, with its question and its files. */

export interface Asked {
  id: string;
  kind: 'question' | 'approval' | 'plan';
  prompt: string;
  options: string[];
  number: number;
  /** the message is complete: that of a coding task quotes the container's words, that of a budget says what waits */
  isWhole: boolean;
  /** what an approval is decided by, as much as this message shows, and how many characters follow */
  evidence: string | null;
  rest: number;
  /** why this row repeats a question: it waits, or it is asked on a second channel; null: this row asks it */
  again: 'reminder' | { firstAskedOn: string } | null;
}
export interface OutgoingRow {
  id: string;
  kind: 'answer' | 'question' | 'notice' | 'progress' | 'result';
  body: string;
  state: 'queued' | 'sent' | 'failed' | 'dropped';
  address: string;
  threadId: string | null;
  turnId: string | null;
  createdAt: Date;
  question: Asked | null;
  /** of its chat, for our own texts; English when unset */
  language?: string;
}
export async function findOutgoingRow(db: Db, id: string): Promise<OutgoingRow | undefined> {
  const row = await db
    .selectFrom('outbox')
    .innerJoin('chats', 'chats.id', 'outbox.chat_id')
    .select([
      'outbox.id',
      'outbox.kind',
      'outbox.body',
      'outbox.state',
      'outbox.thread_id',
      'outbox.turn_id',
      'outbox.created_at',
      'chats.address',
      'chats.preferences',
    ])
    .where('outbox.id', '=', id)
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    id: row.id,
    kind: row.kind,
    body: row.body,
    state: row.state,
    address: row.address,
    threadId: row.thread_id,
    turnId: row.turn_id,
    createdAt: row.created_at,
    language: languageOf(row.preferences),
    question: row.turn_id ? await askedBy(db, row.id, row.turn_id) : null,
  };
}

/** The outbox row that asks a question in the owner's chat on another channel. */
export const secondAsking = (turnId: string, questionId: string): string =>
  `${outboxIdOf(turnId, questionId)}_elsewhere`;

async function askedBy(db: Db, id: string, turnId: string): Promise<Asked | null> {
  const questions = await db
    .selectFrom('questions')
    .innerJoin('chats', 'chats.id', 'questions.chat_id')
    .leftJoin('calls', 'calls.id', 'questions.call_id')
    .select([
      'chats.channel',
      'questions.id',
      'questions.kind',
      'questions.prompt',
      'questions.options',
      'questions.number',
      'questions.evidence',
      'questions.task_id',
      'questions.shipment_id',
      'questions.budget',
      'questions.shown',
      'calls.args',
    ])
    .where('questions.turn_id', '=', turnId)
    .execute();
  for (const question of questions) {
    const asks = outboxIdOf(turnId, question.id);
    if (id !== asks && id !== `${asks}_reminder` && id !== secondAsking(turnId, question.id)) continue;
    const { id: questionId, kind, prompt, options, number, shown } = question;
    // rows from before evidence was stored have the arguments
    const evidence =
      question.evidence ?? (kind === 'approval' && question.args ? argumentsEvidence(question.args) : null);
    const end = question.evidence === null ? (evidence?.length ?? 0) : shown;
    return {
      id: questionId,
      kind,
      prompt,
      options,
      number,
      isWhole:
        question.task_id !== null ||
        question.shipment_id !== null ||
        question.budget !== null ||
        baselineOfQuestion(questionId) !== null,
      evidence: evidence?.slice(0, end) ?? null,
      rest: (evidence?.length ?? 0) - end,
      again:
        id === asks ? null : id === secondAsking(turnId, questionId) ? { firstAskedOn: question.channel } : 'reminder',
    };
  }
  return null;
}

/** Whether a progress report need not be sent: its turn is over, or a newer report waits. */
export async function isProgressStale(db: Db, row: { id: string; turnId: string }): Promise<boolean> {
  const turn = await db.selectFrom('turns').select('status').where('id', '=', row.turnId).executeTakeFirst();
  // reports of a coding task share its id in place of a turn's
  const task = turn
    ? undefined
    : await db.selectFrom('tasks').select('ended_at').where('id', '=', row.turnId).executeTakeFirst();
  const running = turn ? turn.status === 'in_progress' : task?.ended_at === null;
  const newer = await db
    .selectFrom('outbox')
    .select('id')
    .where('turn_id', '=', row.turnId)
    .where('kind', '=', 'progress')
    .where('state', '=', 'queued')
    .where('ord', '>', (e) => e.selectFrom('outbox').select('ord').where('id', '=', row.id))
    .limit(1)
    .executeTakeFirst();
  return !running || newer !== undefined;
}

/** A file of a reply. It must be of the reply's own thread, so that no chat shows another chat's file. */
export const sendableAttachment = (db: Db, id: string, threadId: string) =>
  db
    .selectFrom('attachments')
    .select(['id', 'kind', 'mime', 'name', 'data'])
    .where('id', '=', id)
    .where('thread_id', '=', threadId)
    .executeTakeFirst();
