import type { Selectable } from 'kysely';
import { outboxId } from '../../../contracts/ids.ts';
import { aboutQuestion, askForMore, nearText } from '../../../domain/model/budget-texts.ts';
import { grantFor, type Mark } from '../../../domain/model/spending.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { derivedId } from '../../chats/ids.ts';
import { sayTo } from '../../chats/preferences.ts';
import { onThread, type ThreadTransaction } from '../../chats/thread-transaction.ts';
import { addItem } from '../../chats/threads/items.ts';
import { latestThread } from '../../chats/threads/threads.ts';
import { type Db, json, perDatabase } from '../../postgres/database.ts';
import type { BudgetAsked, QuestionTable } from '../../schema/tables/turns.ts';
import { addCompleteTurn } from '../complete-turn.ts';
import { sendBeside, type Told } from '../replies.ts';
import { isTurnRunning } from '../turns.ts';
import { openedNow } from './ask.ts';
import { expireQuestion } from './decide.ts';
import { howToAnswer } from './question-text.ts';

type Question = Selectable<QuestionTable>;

/** What asks: a turn, a coding task, or a schedule that has not begun. */
interface Asker {
  /** the question gets an id that begins with it */
  id: string;
  /** the thread of a turn or task; null for a schedule */
  threadId: string | null;
  /** a schedule that fires once */
  once?: boolean;
  /** the turn that waits */
  turnId?: string;
  taskId?: string;
  /** the chat that pays, and is asked */
  account: string;
  /** what waits meanwhile, as a sentence; null where the place says it */
  waits: ((say: Say) => string) | null;
}

/**
 * `asked`: the question is open, and `told` must be sent by the conversation of its chat; null when it was sent before.
 * `refused`: it was answered with no, or by nobody.
 */
type AskedForMore =
  | { state: 'asked'; questionId: string; told: Told | null; opensAt: number | null }
  | { state: 'refused' };

/** Asks, once for each asker and period, whether a budget may be exceeded. A yes allows as much again. */
export async function askAtLimit(db: Db, asker: Asker, mark: Mark): Promise<AskedForMore> {
  const { scope, period, endsAt } = mark.budget;
  const at = await placeOf(db, asker);
  if (!at) return { state: 'refused' };
  return await onThread(db, at.threadId, async (tx) => {
    const all = await tx.now
      .selectFrom('questions')
      .selectAll()
      .where((e) =>
        e.and([
          e(e.ref('budget', '->>').key('scope'), '=', scope),
          e(e.ref('budget', '->>').key('period'), '=', period),
        ]),
      )
      .orderBy('asked_at', 'desc')
      .execute();
    // a schedule does not ask again what one of its runs has asked
    const own =
      asker.threadId === null && mark.budget.level === 'schedule'
        ? all
        : all.filter(({ id }) => id.startsWith(`${asker.id}_budget`));
    const [latest] = own;
    if (at.own && !(await isTurnRunning(tx.now, asker.turnId!))) return { state: 'refused' };
    if (latest?.state === 'open') return { state: 'asked', questionId: latest.id, told: null, opensAt: endsAt };
    if (latest && latest.decision !== 'allow') return { state: 'refused' };
    const questionId = `${asker.id}_budget${own.length + 1}_${derivedId('msg_', scope, period).slice(4, 12)}`;
    const turnId = at.own ? asker.turnId! : derivedId('msg_', questionId).replace('msg_', 'turn_');
    const more = grantFor(mark);
    const budget: BudgetAsked = { scope, period, ...more, ...(at.waiting && { workflowId: at.waiting }) };
    const out = outboxId(turnId, questionId);
    const say = await sayTo(tx.now, tx.chatId);
    const prompt = [...(asker.waits ? [asker.waits(say)] : []), askForMore(mark, say)].join(' ');
    const opened = await openedNow(tx, null);
    const question: Question = {
      id: questionId,
      chat_id: tx.chatId,
      thread_id: tx.threadId,
      turn_id: turnId,
      call_id: null,
      task_id: asker.taskId ?? null,
      shipment_id: null,
      kind: 'approval',
      prompt,
      options: [],
      state: 'open',
      decision: null,
      answer: null,
      remember: false,
      asked_at: tx.at,
      decided_at: null,
      decided_by: null,
      ...opened,
      budget,
      also_in: null,
    };
    const body = [
      opened.number > 1 ? `${opened.number}. ${prompt}` : prompt,
      aboutQuestion(mark, tx.at.getTime(), asker.threadId !== null ? 'begun' : asker.once ? 'once' : 'repeats', say),
      howToAnswer(question, say),
    ].join('\n\n');
    if (!at.own) await showAsTurn(tx, { turnId, key: questionId, text: body });
    await tx.now
      .insertInto('questions')
      .values({ ...question, options: '[]', decided_by: null, budget: json(budget) })
      .execute();
    await tx.now
      .insertInto('outbox')
      .values({ id: out, chat_id: tx.chatId, thread_id: tx.threadId, turn_id: turnId, kind: 'question', body })
      .execute();
    const about = { tool_name: 'budget', description: at.own ? prompt : body, intent_summary: null, input: {} };
    tx.append({ event: 'approval.required', turnId, payload: { id: questionId, approval_id: questionId, ...about } });
    return { state: 'asked', questionId, told: await sendBeside(tx, out), opensAt: endsAt };
  });
}

/**
 * Closes what a schedule has asked in a day or month that is over: nothing waits for the answer, and it would allow
 * nothing. `periods`: those that are not over.
 */
export async function closePastQuestions(
  db: Db,
  { id, chat_id }: { id: string; chat_id: string },
  periods: readonly string[],
): Promise<void> {
  const past = await db
    .selectFrom('questions')
    .select('id')
    .where('chat_id', '=', chat_id)
    .where('state', '=', 'open')
    .where((e) => e(e.ref('budget', '->>').key('period'), 'not in', [...periods]))
    .execute();
  for (const question of past) if (question.id.startsWith(`${id}_budget`)) await expireQuestion(db, question.id);
}

/**
 * Where it is asked: in the thread of the turn, or in the chat that pays for a run. `waiting`: the conversation that is to
 * hear the answer. Null when nobody can be asked.
 */
async function placeOf(
  db: Db,
  { threadId, taskId, account }: Asker,
): Promise<{ threadId: string; own: boolean; waiting: string | null } | null> {
  const thread =
    threadId === null
      ? undefined
      : await db
          .selectFrom('threads')
          .innerJoin('chats', 'chats.id', 'threads.chat_id')
          .select(['threads.chat_id', 'chats.workflow_id'])
          .where('threads.id', '=', threadId)
          .executeTakeFirst();
  if (threadId !== null && thread?.chat_id === account) return { threadId, own: taskId === undefined, waiting: null };
  const paying = await latestThread(db, account);
  const waiting = taskId === undefined ? (thread?.workflow_id ?? null) : null;
  if (paying) return { threadId: paying.id, own: false, waiting };
  return threadId === null ? null : { threadId, own: taskId === undefined, waiting: null };
}

/** A complete turn, which may exist beside a running one. */
const showAsTurn = (tx: ThreadTransaction, it: { turnId: string; key: string; text: string }): Promise<void> =>
  addCompleteTurn(tx, { id: it.turnId, summary: it.text }, async () => {
    await addItem(tx, {
      id: derivedId('item_', it.key),
      turnId: it.turnId,
      threadId: tx.threadId,
      kind: 'agent_message',
      status: 'completed',
      summary: it.text,
      detail: it.text,
    });
  });

/** Ids of messages that this process knows to be stored. */
const told = perDatabase(() => new Set<string>());

/**
 * Says that most of a budget is used, once for each budget and period, in the chat that pays. Returns what its
 * conversation must send.
 */
export async function tellNearLimit(db: Db, account: string, mark: Mark): Promise<Told | null> {
  const key = derivedId('item_', 'near', mark.budget.scope, mark.budget.period);
  if (told(db).has(key)) return null;
  const thread = await latestThread(db, account);
  if (!thread) return null;
  const turnId = derivedId('msg_', key).replace('msg_', 'turn_');
  const id = outboxId(turnId, key);
  const row = { id, chat_id: account, thread_id: thread.id, turn_id: turnId, kind: 'notice' as const };
  const body = nearText(mark, await sayTo(db, account));
  const sent = await onThread(db, thread.id, async (tx) => {
    const added = await tx.now
      .insertInto('outbox')
      .values({ ...row, body })
      .onConflict((c) => c.column('id').doNothing())
      .returning('id')
      .executeTakeFirst();
    if (!added) return null;
    await showAsTurn(tx, { turnId, key, text: body });
    return await sendBeside(tx, id);
  });
  told(db).add(key);
  return sent;
}
