import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { type Arrival, ASK_USER, type StepUsage, type ThinkInput, type ThinkResult } from '../../contracts/conversation.ts';
import { outboxId, stepKey } from '../../contracts/ids.ts';
import { cut, derivedId, steerMessageId } from '../chats/ids.ts';
import { deltaEvent, endItem, endItemRow, type ItemRow, insertItems, itemEvent, itemRow } from '../chats/items.ts';
import { onThread, onThreadIf, requireUnchanged } from '../chats/thread-transaction.ts';
import { compiled } from '../postgres/compiled-query.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { WriteBatch } from '../postgres/write-batch.ts';
import { closeTurn, selectTurnState, toTurnState } from '../turns/turns.ts';
import { endedCallItem, keepFresh } from './calls.ts';
import { type CheckedCall, type NewCall, newCall, type Trust } from './new-calls.ts';
import { addSpending } from './spending.ts';
import type { StepSubject } from './step-subject.ts';
import { remember } from './transcript.ts';

export interface Answer {
  text: string;
  calls: CheckedCall[];
  model: string;
  usage: StepUsage;
  /** later transcript rows arrived while the model was answering */
  readUpto: number;
  /** the item that streamed the text, whether it began, and the text that is not streamed yet */
  item: { id: string; begun: boolean; rest: string };
}

/**
 * Stores a model answer with all that follows from it, in one transaction: items, events, transcript, calls, usage, and at the end of a turn also the reply in
 * the outbox and the end itself. A second call returns the first result.
 */
export async function storeAnswer(db: Db, input: ThinkInput, subject: StepSubject, answer: Answer): Promise<ThinkResult> {
  return (await storeCallsAtOnce(db, input, subject, answer)) ?? (await storeOnThread(db, input, subject, answer));
}

/**
 * An answer with only tool calls, of which nobody has seen a word: most steps of a long turn. Its writes need only that the turn is unchanged. Null when it has
 * changed, or for another answer.
 */
async function storeCallsAtOnce(db: Db, input: ThinkInput, subject: StepSubject, answer: Answer): Promise<ThinkResult | null> {
  const { turnId, threadId } = input;
  if (answer.calls.length === 0 || answer.item.begun) return null;
  const trust = { autonomy: subject.autonomy, autoApprove: subject.turn.auto_approve ?? subject.thread.auto_approve };
  const calls = answer.calls.map((call, position) => newCall(input, call, position, trust));
  const result = stepResult(input, answer, {
    calls,
    next: 'tools',
    outbox: asks(calls, answer) ? 'step' : null,
    ...trust,
  });
  const unchanged = requireAsRead(
    turnId,
    subject.turn.auto_approve,
    subject.thread.auto_approve,
    subject.autonomy,
    stepKey(turnId, input.step),
    answer.readUpto,
  );
  const stored = await onThreadIf(db, threadId, unchanged, (batch) => {
    storeItems(batch, input, answer, calls);
    rememberAnswer(batch, input, answer, calls);
    writeStep(batch, input, subject, answer, result);
    if (result.outboxId) tell(batch, input, subject, result.outboxId, answer.text.trim());
  });
  if (!stored) return null;
  for (const { row, item } of calls) keepFresh(db, { ...row, metadata: null, item_started_at: item.started_at, item_kind: item.kind }, subject.chatId);
  return result;
}

/** Policy's inputs must be unchanged: somebody may have said "supervised" while the model answered. */
const requireAsRead = compiled(
  'require_as_read',
  (_, turnId: string, turnApproves: boolean | null, threadApproves: boolean, autonomy: string, key: string, readUpto: number) =>
    requireUnchanged(sql`exists (select from turns join threads on threads.id = turns.thread_id join chats on chats.id = threads.chat_id
      where turns.id = ${turnId} and turns.status = 'in_progress' and turns.auto_approve is not distinct from ${turnApproves}::boolean
        and threads.auto_approve = ${threadApproves}::boolean and chats.autonomy = ${autonomy})
    and not exists (select from steps where key = ${key})
    and not exists (select from transcript where turn_id = ${turnId} and role = 'user' and ord > ${readUpto}::bigint)`),
);

async function storeOnThread(db: Db, input: ThinkInput, subject: StepSubject, answer: Answer): Promise<ThinkResult> {
  const { turnId, threadId } = input;
  const key = stepKey(turnId, input.step);
  return await onThread(db, threadId, async (tx) => {
    const { stored, newer, stands, ...row } = await selectTurnState(tx.now, turnId)
      .select((e) => [
        e.selectFrom('steps').select('result').where('key', '=', key).as('stored'),
        jsonArrayFrom(
          e
            .selectFrom('transcript')
            .select('transcript.id')
            .where('transcript.turn_id', '=', turnId)
            .where('role', '=', 'user')
            .where('ord', '>', answer.readUpto)
            .orderBy('ord'),
        ).as('newer'),
        e
          .exists(e.selectFrom('transcript').select('id').where('turn_id', '=', turnId).where('role', '=', 'user').where('ord', '<=', answer.readUpto))
          .as('stands'),
      ])
      .executeTakeFirstOrThrow();
    const state = toTurnState(row);
    if (stored) {
      // another attempt was faster, so what this one streamed is not the answer
      await endItem(tx, answer.item.id, { status: 'interrupted' });
      return stored;
    }
    // the interrupt may have come first: the answer is paid for and kept, but nothing follows from it
    const open = state.turn.status === 'in_progress';
    const trust = await trustNow(tx.now, threadId, state.turn.auto_approve);
    const calls = open ? answer.calls.map((call, position) => newCall(input, call, position, trust)) : [];
    if (open) {
      const { text, item } = answer;
      const streamed = item.begun && text ? await endItemRow(tx.now, item.id, { status: 'completed', summary: text, detail: text }) : undefined;
      const born = storeItems(tx, input, answer, calls, streamed);
      state.items.push(...born.map(({ id, status }) => ({ id, status })));
      // a late answer to a closed turn would come between the next message and its answer
      rememberAnswer(tx, input, answer, calls);
    } else {
      await endItem(tx, answer.item.id, { status: 'interrupted' });
    }
    // messages that the model had not read come after its answer, or they would seem answered
    if (newer.length > 0) await tx.sendPending();
    for (const { id } of newer) {
      await tx.now.updateTable('transcript').set({ ord: sql`nextval('transcript_ord_seq')` }).where('id', '=', id).execute();
    }
    const next: ThinkResult['next'] = !open ? 'closed' : calls.length > 0 ? 'tools' : newer.length > 0 ? 'continue' : 'closed';
    const ends = next === 'closed' && open;
    // When a turn is steered or asks, what was said before it continues is an answer too, because a phone shows no stream. An answer to a message that was
    // edited meanwhile is not one
    const heard = open && answer.text.trim() !== '' && ((next === 'continue' && stands) || asks(calls, answer));
    const result = stepResult(input, answer, { calls, next, outbox: ends ? 'answer' : heard ? 'step' : null, ...trust });
    writeStep(tx, input, subject, answer, result, await unreadOf(tx.now, turnId, newer));
    const { usage } = answer;
    if (heard) tell(tx, input, subject, result.outboxId!, answer.text.trim());
    if (ends) {
      const body = answer.text.trim() || 'The model answered with nothing. Write again, perhaps in other words.';
      if (!answer.text) {
        const told = itemRow({ id: derivedId('item_', key, 'empty'), turnId, threadId, kind: 'status', status: 'completed', summary: body, detail: body });
        insertItems(tx, [told]);
        tx.append(itemEvent(told));
        state.items.push({ id: told.id, status: told.status });
      }
      tell(tx, input, subject, result.outboxId!, body);
      state.used.inputTokens += usage.inputTokens;
      state.used.outputTokens += usage.outputTokens;
      state.used.microUsd += usage.microUsd;
      await closeTurn(tx, state, 'completed');
    }
    return result;
  });
}

/** A question to the person. What the model says with it is sent before. */
export const asks = (calls: readonly NewCall[], { text }: Answer): boolean => text.trim() !== '' && calls.some(({ row }) => row.name === ASK_USER);

function stepResult(
  { turnId, step }: ThinkInput,
  { usage }: Answer,
  it: Trust & { calls: readonly NewCall[]; next: ThinkResult['next']; outbox: 'answer' | 'step' | null },
): ThinkResult {
  return {
    next: it.next,
    calls: it.calls.map(({ verdict }) => verdict),
    ...(it.outbox && { outboxId: outboxId(turnId, it.outbox === 'answer' ? 'answer' : `step${step}`) }),
    autonomy: it.autonomy,
    autoApprove: it.autoApprove,
    usage,
  };
}

const rememberAnswer = (batch: WriteBatch, { turnId, step }: ThinkInput, { text }: Answer, calls: readonly NewCall[]): void =>
  remember(batch, { id: derivedId('msg_', stepKey(turnId, step)), turnId, role: 'assistant', content: text, callIds: calls.map(({ row }) => row.id) });

/**
 * Inbox rows of a turn whose message came while the model was answering. They stay unread: if the turn ends before another step, they become their own turn,
 * and a stop must still show which of them it was meant for.
 */
async function unreadOf(tx: Tx, turnId: string, newer: ReadonlyArray<{ id: string }>): Promise<string[]> {
  if (newer.length === 0) return [];
  const rows = await tx.selectFrom('inbox').select(['id', 'arrival']).where('turn_id', '=', turnId).where('consumed_at', 'is', null).execute();
  const messages = new Set(newer.map(({ id }) => id));
  return rows.filter(({ id, arrival }) => (arrival as Arrival).kind === 'stop' || messages.has(steerMessageId(id))).map(({ id }) => id);
}

/** Stores the step, its cost, and that it has read all earlier rows except the inbox rows `unread`. */
function writeStep(
  batch: WriteBatch,
  { turnId, step }: ThinkInput,
  { chatId }: StepSubject,
  { model, usage }: Answer,
  result: ThinkResult,
  unread: readonly string[] = [],
): void {
  const used = { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens, micro_usd: usage.microUsd };
  batch.later((db) => db.insertInto('steps').values({ key: stepKey(turnId, step), turn_id: turnId, step, model, result: json(result), ...used }));
  addSpending(batch, chatId, { tokens: usage.inputTokens + usage.outputTokens, microUsd: usage.microUsd, unpriced: usage.unpriced ?? 0 });
  batch.later((db) => {
    const read = db.updateTable('inbox').set({ consumed_at: new Date() }).where('turn_id', '=', turnId).where('consumed_at', 'is', null);
    return unread.length === 0 ? read : read.where('id', 'not in', [...unread]);
  });
}

const tell = (batch: WriteBatch, { turnId, threadId }: ThinkInput, { chatId }: StepSubject, id: string, body: string): void =>
  batch.later((db) => db.insertInto('outbox').values({ id, chat_id: chatId, thread_id: threadId, turn_id: turnId, kind: 'answer', body }));

async function trustNow(tx: Tx, threadId: string, turnApproves: boolean | null): Promise<Trust> {
  const { autonomy, auto_approve } = await tx
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select(['chats.autonomy', 'threads.auto_approve'])
    .where('threads.id', '=', threadId)
    .executeTakeFirstOrThrow();
  return { autonomy, autoApprove: turnApproves ?? auto_approve };
}

/**
 * Items and rows of an answer and its calls, with events in the order that clients expect: the text ends after the calls have begun. `streamed`: the item of
 * the text, when screens have seen it begin. Returns the new items.
 */
function storeItems(batch: WriteBatch, { turnId, threadId }: ThinkInput, { text, item }: Answer, calls: readonly NewCall[], streamed?: ItemRow): ItemRow[] {
  const about = { id: item.id, turnId, threadId, kind: 'agent_message' as const };
  const opened = itemRow({ ...about, status: 'in_progress', summary: '', detail: '' });
  const whole: ItemRow = { ...opened, status: 'completed', summary: cut(text, 280), detail: text, ended_at: opened.started_at };
  const unseen = text !== '' && !item.begun;
  if (unseen) batch.append(itemEvent(opened));
  if (item.rest) batch.append(deltaEvent(about, item.rest));
  batch.append(...calls.map(({ item, row }) => itemEvent(item, { tool: { id: row.id, name: row.name, input: row.args } })));
  if (unseen) batch.append(itemEvent(whole));
  if (streamed) batch.append(itemEvent(streamed));
  const callItems = calls.map(({ item, row, refusal }) => (refusal === undefined ? item : endedCallItem(item, row.name, { ok: false, output: refusal })));
  batch.append(...callItems.filter((each) => each.status !== 'in_progress').map((each) => itemEvent(each)));
  const born = [...(unseen ? [whole] : []), ...callItems];
  insertItems(batch, born);
  if (calls.length > 0)
    batch.later((db) =>
      db
        .insertInto('calls')
        .values(calls.map(({ row }) => ({ ...row, args: json(row.args), sources: row.sources && json(row.sources), taint: row.taint && json(row.taint) }))),
    );
  return born;
}
