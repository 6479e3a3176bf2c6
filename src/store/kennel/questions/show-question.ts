import type { Insertable } from 'kysely';
import { outboxId } from '../../../contracts/ids.ts';
import { whyAsked } from '../../../domain/consent/taint.ts';
import { shownHost } from '../../../domain/tasks/egress.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { derivedId } from '../../chats/ids.ts';
import type { ThreadTransaction } from '../../chats/thread-transaction.ts';
import { addItem } from '../../chats/threads/items.ts';
import { json, type Tx } from '../../postgres/database.ts';
import type { QuestionTable } from '../../schema/tables/turns.ts';
import { addCompleteTurn } from '../../turns/complete-turn.ts';
import type { openedNow } from '../../turns/questions/ask.ts';
import { shownEvidence } from '../../turns/questions/question-payloads.ts';
import type { Question } from '../../turns/questions/questions.ts';
import { remember } from '../../turns/steps/transcript.ts';
import { reachedBy } from '../egress.ts';
import { sourceOfTask } from '../tasks/task-news.ts';
import type { Task } from '../tasks/tasks.ts';

/**
 * The turn and the outbox row in which a question of a task is shown: derived, so that a repeated attempt finds them.
 */
export function placeOfQuestion(questionId: string): { turnId: string; out: string } {
  const turnId = derivedId('msg_', questionId).replace('msg_', 'turn_');
  return { turnId, out: outboxId(turnId, questionId) };
}

/** Shows a question of a task in its chat, as a turn of its own, and queues it for the channel. */
export async function showQuestion(tx: ThreadTransaction, task: Task, questionId: string, body: string): Promise<void> {
  const { turnId, out } = placeOfQuestion(questionId);
  await addCompleteTurn(tx, { id: turnId, summary: body }, async () => {
    const at = { turnId, threadId: task.thread_id };
    await addItem(tx, {
      ...at,
      id: derivedId('item_', questionId),
      kind: 'agent_message',
      status: 'completed',
      summary: body,
      detail: body,
    });
    remember(tx, {
      id: derivedId('msg_', questionId),
      turnId,
      role: 'assistant',
      content: body,
      sources: [sourceOfTask(task)],
    });
  });
  await tx.now
    .insertInto('outbox')
    .values({ id: out, chat_id: task.chat_id, thread_id: task.thread_id, turn_id: turnId, kind: 'question', body })
    .execute();
}

type NewQuestion = Pick<Insertable<QuestionTable>, 'id' | 'kind' | 'prompt'> &
  Awaited<ReturnType<typeof openedNow>> & { options?: readonly string[] };
type Settled = Partial<
  Pick<Insertable<QuestionTable>, 'turn_id' | 'state' | 'decision' | 'answer' | 'decided_at' | 'decided_by'>
>;

/**
 * The row of a question of a task. It is open in its own turn, unless `settled` says that it was decided without being
 * asked.
 */
export async function insertQuestion(
  { now }: ThreadTransaction,
  task: Task,
  { options = [], ...question }: NewQuestion,
  settled: Settled = {},
): Promise<void> {
  const { turnId } = placeOfQuestion(question.id);
  const owner = { chat_id: task.chat_id, thread_id: task.thread_id, turn_id: turnId, call_id: null, task_id: task.id };
  const open = { state: 'open' as const, decision: null, answer: null };
  await now
    .insertInto('questions')
    .values({ ...owner, ...question, options: json(options), ...open, ...settled })
    .execute();
}

/** The event by which clients learn that a task asks for an approval. `body`: as it is shown in the chat. */
export const approvalOfTask = (
  task: Task,
  { questionId, body, asks }: { questionId: string; body: string; asks: Pick<Question, 'evidence' | 'shown'> },
) => ({
  event: 'approval.required' as const,
  turnId: placeOfQuestion(questionId).turnId,
  payload: {
    id: questionId,
    approval_id: questionId,
    tool_name: 'coding_task',
    description: body,
    intent_summary: null,
    input: { task_id: task.id },
    ...shownEvidence(asks),
  },
});

/**
 * Why text of others may be behind what a task asks for: the task was made after some was read, or has read from hosts
 * itself.
 */
export async function warningsOf(tx: Tx, task: Task, say: Say): Promise<string[]> {
  const call = await tx.selectFrom('calls').select('taint').where('id', '=', task.call_id).executeTakeFirst();
  const reached = await reachedBy(tx, task.id, 3);
  return [
    ...(task.shipment_id !== null ? [say('hosts.pull')] : []),
    ...(call?.taint?.asks.length ? [whyAsked({ ...call.taint, asks: ['egress'] }, say)] : []),
    ...(reached.length > 0 ? [say('hosts.read', { hosts: say.list(reached.map((at) => shownHost(at, say))) })] : []),
  ];
}
