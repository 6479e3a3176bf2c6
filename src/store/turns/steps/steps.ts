import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Arrival, ThinkInput, ThinkResult } from '../../../contracts/conversation.ts';
import { stepKey } from '../../../contracts/ids.ts';
import { withoutInternal } from '../../../domain/text/internal.ts';
import { derivedId, steerMessageId } from '../../chats/ids.ts';
import { onThread, onThreadIf, requireUnchanged, type ThreadTransaction } from '../../chats/thread-transaction.ts';
import { endItem, endItemRow, insertItems, itemEvent, itemRow } from '../../chats/threads/items.ts';
import { compiled } from '../../postgres/compiled-query.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import { closeTurn, recountEnded, selectTurnState, type TurnState, toTurnState } from '../turns.ts';
import {
  type Answer,
  asks,
  type Cost,
  familiesKept,
  rememberAnswer,
  stepResult,
  storeItems,
  tell,
  writeCost,
  writeStep,
} from './answer-writes.ts';
import { keepFresh } from './calls.ts';
import { rulesOf } from './kinds.ts';
import { type NewCall, newCall, type Trust } from './new-calls.ts';
import type { StepSubject } from './step-subject.ts';

/**
 * Stores a model answer with all that follows from it, in one transaction: items, events, transcript, calls, usage, and
 * at the end of a turn also the reply in the outbox and the end itself. A second call returns the first result.
 */
export async function storeAnswer(
  db: Db,
  input: ThinkInput,
  subject: StepSubject,
  answer: Answer,
): Promise<ThinkResult> {
  return (await storeCallsAtOnce(db, input, subject, answer)) ?? (await storeOnThread(db, input, subject, answer));
}

/**
 * An answer with only tool calls, of which nobody has seen a word: most steps of a long turn. Its writes need only that
 * the turn is unchanged. Null when it has changed, or for another answer.
 */
async function storeCallsAtOnce(
  db: Db,
  input: ThinkInput,
  subject: StepSubject,
  answer: Answer,
): Promise<ThinkResult | null> {
  const { turnId, threadId } = input;
  if (answer.calls.length === 0 || answer.item.begun) return null;
  // a rule that was taken back meanwhile lets nothing run
  if (answer.calls.some(({ kind }) => kind?.judged?.says === 'run')) return null;
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
    storeItems(batch, input, onScreens(subject, answer), calls);
    rememberAnswer(batch, input, answer, calls);
    writeStep(batch, input, subject, answer, result);
    if (answer.families) batch.later((db) => familiesKept(db, input, answer.families!));
    if (result.outboxId) tell(batch, input, subject, result.outboxId, answer.text.trim());
  });
  if (!stored) return null;
  for (const { row, item } of calls)
    keepFresh(db, { ...row, metadata: null, item_started_at: item.started_at, item_kind: item.kind }, subject.chatId);
  return result;
}

/** Policy's inputs must be unchanged: somebody may have said "supervised" while the model answered. */
const requireAsRead = compiled(
  'require_as_read',
  (
    _,
    turnId: string,
    turnApproves: boolean | null,
    threadApproves: boolean,
    autonomy: string,
    key: string,
    readUpto: number,
  ) =>
    requireUnchanged(sql`exists (select from turns join threads on threads.id = turns.thread_id join chats on chats.id = threads.chat_id
      where turns.id = ${turnId} and turns.status = 'in_progress' and turns.auto_approve is not distinct from ${turnApproves}::boolean
        and threads.auto_approve = ${threadApproves}::boolean and chats.autonomy = ${autonomy})
    and not exists (select from steps where key = ${key})
    and not exists (select from transcript where turn_id = ${turnId} and role = 'user' and ord > ${readUpto}::bigint)`),
);

/** An answer whose effects depend on what happened while the model answered. */
async function storeOnThread(db: Db, input: ThinkInput, subject: StepSubject, answer: Answer): Promise<ThinkResult> {
  const { turnId, threadId } = input;
  return await onThread(db, threadId, async (tx) => {
    const { stored, newer, stands, ...row } = await selectStepState(
      tx.now,
      input,
      answer.readUpto,
    ).executeTakeFirstOrThrow();
    if (stored) {
      // another attempt was faster, so what this one streamed is not the answer
      await endItem(tx, answer.item.id, { status: 'interrupted' });
      return stored;
    }
    const state = toTurnState(row);
    // the interrupt may have come first: the answer is paid for and kept, but nothing follows from it
    const open = state.turn.status === 'in_progress';
    const trust = await trustNow(tx.now, threadId, state.turn.auto_approve);
    const isJudged = answer.calls.some(({ kind }) => kind?.judged?.says === 'run');
    const allows = isJudged ? await rulesOf(tx.now, tx.chatId) : () => false;
    const calls = open ? answer.calls.map((call, position) => newCall(input, call, position, trust, allows)) : [];
    if (open) state.items.push(...(await showAnswer(tx, input, subject, answer, calls)));
    else await endItem(tx, answer.item.id, { status: 'interrupted' });
    if (newer.length > 0) await moveBehindAnswer(tx, newer);
    const next: ThinkResult['next'] = !open
      ? 'closed'
      : calls.length > 0
        ? 'tools'
        : newer.length > 0
          ? 'continue'
          : 'closed';
    const ends = next === 'closed' && open;
    // When a turn is steered or asks, what was said before it continues is an answer too, because a phone shows no
    // stream. An answer to a message that was edited meanwhile is not one
    const heard = open && answer.text.trim() !== '' && ((next === 'continue' && stands) || asks(calls, answer));
    const result = stepResult(input, answer, {
      calls,
      next,
      outbox: ends ? 'answer' : heard ? 'step' : null,
      ...trust,
    });
    writeStep(tx, input, subject, answer, result, await unreadOf(tx.now, turnId, newer));
    // at once, because the end of a turn writes the row of its thread, too
    if (answer.families) await familiesKept(tx.now, input, answer.families).execute();
    if (heard) tell(tx, input, subject, result.outboxId!, answer.text.trim());
    if (ends) {
      tell(tx, input, subject, result.outboxId!, await endingText(tx, input, answer, state));
      await closeTurn(tx, withUsage(state, answer), 'completed');
    }
    if (!open) await recountEnded(tx, turnId);
    return result;
  });
}

/**
 * The turn, and what happened since the model read it: `stored` is the result of a faster attempt, `newer` has the
 * messages that the model has not read, and
 * `stands` says whether a message that it has read is still there.
 */
const selectStepState = (tx: Tx, { turnId, step }: ThinkInput, readUpto: number) =>
  selectTurnState(tx, turnId).select((e) => {
    const messages = e
      .selectFrom('transcript')
      .select('transcript.id')
      .where('transcript.turn_id', '=', turnId)
      .where('role', '=', 'user');
    return [
      e.selectFrom('steps').select('result').where('key', '=', stepKey(turnId, step)).as('stored'),
      jsonArrayFrom(messages.where('ord', '>', readUpto).orderBy('ord')).as('newer'),
      e.exists(messages.where('ord', '<=', readUpto)).as('stands'),
    ];
  });

/** An answer to a schedule without what it keeps to itself. */
const onScreens = ({ turn }: StepSubject, answer: Answer): Answer =>
  turn.run_id === null ? answer : { ...answer, text: withoutInternal(answer.text) };

/** Shows and remembers the answer of a turn that is open. Returns its new items. */
async function showAnswer(
  tx: ThreadTransaction,
  input: ThinkInput,
  subject: StepSubject,
  answer: Answer,
  calls: readonly NewCall[],
): Promise<TurnState['items']> {
  const shown = onScreens(subject, answer);
  const { text, item } = shown;
  // what streamed may turn out to be a thought or a call, so that no text is left
  const end = text
    ? ({ status: 'completed', summary: text, detail: text } as const)
    : ({ status: 'interrupted' } as const);
  const streamed = item.begun ? await endItemRow(tx.now, item.id, end) : undefined;
  const born = storeItems(tx, input, shown, calls, streamed);
  // a late answer to a closed turn would come between the next message and its answer
  rememberAnswer(tx, input, answer, calls);
  return born.map(({ id, kind, status }) => ({ id, kind, status }));
}

/** Messages that the model had not read come after its answer, or they would seem answered. */
async function moveBehindAnswer(tx: ThreadTransaction, newer: ReadonlyArray<{ id: string }>): Promise<void> {
  await tx.sendPending();
  for (const { id } of newer) {
    await tx.now
      .updateTable('transcript')
      .set({ ord: sql`nextval('transcript_ord_seq')` })
      .where('id', '=', id)
      .execute();
  }
}

/** What the person gets at the end of a turn. What is told beside the text is a line of its own. */
async function endingText(
  tx: ThreadTransaction,
  { turnId, threadId, step }: ThinkInput,
  { text, note }: Answer,
  state: TurnState,
): Promise<string> {
  if (!note) return text.trim();
  const id = derivedId('item_', stepKey(turnId, step), 'note');
  // statements of one batch have no order, and the text comes first
  await tx.sendPending();
  const told = itemRow({ id, turnId, threadId, kind: 'status', status: 'completed', summary: note, detail: note });
  insertItems(tx, [told]);
  tx.append(itemEvent(told));
  state.items.push({ id: told.id, kind: told.kind, status: told.status });
  return [text.trim(), note].filter(Boolean).join('\n\n');
}

/** With a step that this very transaction stores. */
export const withUsage = (
  { used, ...state }: TurnState,
  { usage, cachedTokens = 0, reasoningTokens = 0 }: Pick<Answer, 'usage' | 'cachedTokens' | 'reasoningTokens'>,
): TurnState => ({
  ...state,
  used: [
    ...used,
    {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cached_tokens: cachedTokens,
      reasoning_tokens: reasoningTokens,
      micro_usd: usage.microUsd,
    },
  ],
});

/**
 * Inbox rows of a turn whose message came while the model was answering. They stay unread: if the turn ends before
 * another step, they become their own turn, and a stop must still show which of them it was meant for.
 */
export async function unreadOf(tx: Tx, turnId: string, newer: ReadonlyArray<{ id: string }>): Promise<string[]> {
  if (newer.length === 0) return [];
  const rows = await tx
    .selectFrom('inbox')
    .select(['id', 'arrival'])
    .where('turn_id', '=', turnId)
    .where('consumed_at', 'is', null)
    .execute();
  const messages = new Set(newer.map(({ id }) => id));
  return rows
    .filter(({ id, arrival }) => (arrival as Arrival).kind === 'stop' || messages.has(steerMessageId(id)))
    .map(({ id }) => id);
}

async function trustNow(tx: Tx, threadId: string, turnApproves: boolean | null): Promise<Trust> {
  const { autonomy, auto_approve } = await tx
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select(['chats.autonomy', 'threads.auto_approve'])
    .where('threads.id', '=', threadId)
    .executeTakeFirstOrThrow();
  return { autonomy, autoApprove: turnApproves ?? auto_approve };
}

/** The model of the latest step in a thread; null before the first one. */
export const latestModel = async (db: Db | Tx, threadId: string): Promise<string | null> =>
  (
    await db
      .selectFrom('steps')
      .innerJoin('turns', 'turns.id', 'steps.turn_id')
      .select('steps.model')
      .where('turns.thread_id', '=', threadId)
      .orderBy('turns.created_at', 'desc')
      .orderBy('steps.step', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.model ?? null;

/** What an answer has cost that is no step; under its key it is stored once. */
export type LostCost = Cost & { key: string };

/** Counts what an answer has cost that broke off or was stopped, so that budgets hold. */
export const keepLost = async (
  db: Db,
  { turnId, threadId }: ThinkInput,
  subject: StepSubject,
  lost: LostCost,
): Promise<void> =>
  onThread(db, threadId, async (tx) => {
    const { key, usage } = lost;
    const result = { next: 'closed' as const, calls: [], autonomy: subject.autonomy, autoApprove: false, usage };
    writeCost(tx, { key, turn_id: turnId, step: 0 }, subject, lost, result);
    await recountEnded(tx, turnId);
  });
