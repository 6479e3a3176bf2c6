import type { QueryCreator } from 'kysely';
import { ASK_USER, type StepUsage, type ThinkInput, type ThinkResult } from '../../../contracts/conversation.ts';
import { outboxId, stepKey } from '../../../contracts/ids.ts';
import type { StepState } from '../../../contracts/model.ts';
import type { Family } from '../../../domain/chat/tool-families.ts';
import { withoutInternal } from '../../../domain/text/internal.ts';
import { cut, derivedId } from '../../chats/ids.ts';
import { deltaEvent, type ItemRow, insertItems, itemEvent, itemRow } from '../../chats/threads/items.ts';
import type { WriteBatch } from '../../chats/write-batch.ts';
import { json } from '../../postgres/database.ts';
import type { Database } from '../../schema/schema.ts';
import { endedCallItem } from './calls.ts';
import type { CheckedCall, NewCall, Trust } from './new-calls.ts';
import { addSpending } from './spending.ts';
import type { StepSubject } from './step-subject.ts';
import { remember } from './transcript.ts';

/** What is written for an answer, and nothing that is read. */

export interface Answer {
  text: string;
  /** what the person is told beside the text, in our words: that it was cut, refused or empty */
  note?: string;
  calls: CheckedCall[];
  /** what the provider wants back with the step; its fields of calls stand at the positions of `calls` */
  state?: StepState | undefined;
  model: string;
  usage: StepUsage;
  /** the part of the input that came from the cache of the endpoint */
  cachedTokens?: number;
  /** the part of the output that was thoughts */
  reasoningTokens?: number;
  /** the endpoint did not say all of the tokens */
  estimated?: boolean;
  /** later transcript rows arrived while the model was answering */
  readUpto: number;
  /** all families of tools that the thread has opened, where that has changed */
  families?: readonly Family[] | undefined;
  /** the item that streamed the text, whether it began, and the text that is not streamed yet */
  item: { id: string; begun: boolean; rest: string };
}

/** A question to the person. What the model says with it is sent before. */
export const asks = (calls: readonly NewCall[], { text }: Answer): boolean =>
  text.trim() !== '' && calls.some(({ row }) => row.name === ASK_USER);

export function stepResult(
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

/**
 * Nothing empty is remembered, because providers refuse it: in place of an answer without a word stands what the person
 * was told.
 */
export function rememberAnswer(
  batch: WriteBatch,
  { turnId, step }: ThinkInput,
  { text, note, state }: Answer,
  calls: readonly NewCall[],
): void {
  const said = {
    id: derivedId('msg_', stepKey(turnId, step)),
    turnId,
    role: 'assistant' as const,
    callIds: calls.map(({ row }) => row.id),
  };
  const isSilent = text.trim() === '' && calls.length === 0 && note !== undefined;
  remember(batch, isSilent ? { ...said, content: `[${note}]` } : { ...said, content: text, state });
}

/** Stores the step, its cost, and that it has read all earlier rows except the inbox rows `unread`. */
export function writeStep(
  batch: WriteBatch,
  { turnId, step }: ThinkInput,
  subject: StepSubject,
  answer: Cost,
  result: ThinkResult,
  unread: readonly string[] = [],
): void {
  writeCost(batch, { key: stepKey(turnId, step), turn_id: turnId, step }, subject, answer, result);
  batch.later((db) => {
    const read = db
      .updateTable('inbox')
      .set({ consumed_at: new Date() })
      .where('turn_id', '=', turnId)
      .where('consumed_at', 'is', null);
    return unread.length === 0 ? read : read.where('id', 'not in', [...unread]);
  });
}

/** What an answer has cost. */
export type Cost = Pick<Answer, 'model' | 'usage' | 'cachedTokens' | 'reasoningTokens' | 'estimated'>;

/** Stores what an answer has cost, for its turn, its chat and its schedule. */
export function writeCost(
  batch: WriteBatch,
  row: { key: string; turn_id: string; step: number },
  subject: StepSubject,
  { model, usage, cachedTokens = 0, reasoningTokens = 0, estimated = false }: Cost,
  result: ThinkResult,
): void {
  const used = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_tokens: cachedTokens,
    reasoning_tokens: reasoningTokens,
    micro_usd: usage.microUsd,
  };
  batch.later((db) => db.insertInto('steps').values({ ...row, model, result: json(result), ...used, estimated }));
  addSpending(batch, subject, {
    tokens: usage.inputTokens + usage.outputTokens,
    microUsd: usage.microUsd,
    unpriced: usage.unpriced ?? 0,
  });
}

/** Keeps which families of tools a thread has opened. */
export const familiesKept = (db: QueryCreator<Database>, { threadId }: ThinkInput, families: readonly Family[]) =>
  db
    .updateTable('threads')
    .set({ families: JSON.stringify(families) })
    .where('id', '=', threadId);

export const tell = (
  batch: WriteBatch,
  { turnId, threadId }: ThinkInput,
  { chatId, turn }: StepSubject,
  id: string,
  text: string,
): void => {
  const isScheduled = turn.run_id !== null;
  const body = isScheduled ? withoutInternal(text) : text;
  const row = { id, chat_id: chatId, thread_id: threadId, turn_id: turnId, kind: 'answer' as const, body };
  const state =
    isScheduled && body === '' ? { state: 'dropped' as const, error: 'nothing of it is for the person' } : {};
  batch.later((db) =>
    db.insertInto('outbox').values({ ...row, ...state, ...(isScheduled && { unasked: 'routine' as const }) }),
  );
};

/**
 * Items and rows of an answer and its calls, with events in the order that clients expect: the text ends after the
 * calls have begun. `streamed`: the item of the text, when screens have seen it begin. Returns the new items.
 */
export function storeItems(
  batch: WriteBatch,
  { turnId, threadId }: ThinkInput,
  { text, item }: Answer,
  calls: readonly NewCall[],
  streamed?: ItemRow,
): ItemRow[] {
  const about = { id: item.id, turnId, threadId, kind: 'agent_message' as const };
  const opened = itemRow({ ...about, status: 'in_progress', summary: '', detail: '' });
  const whole: ItemRow = {
    ...opened,
    status: 'completed',
    summary: cut(text, 280),
    detail: text,
    ended_at: opened.started_at,
  };
  const unseen = text !== '' && !item.begun;
  if (unseen) batch.append(itemEvent(opened));
  if (item.rest && (unseen || item.begun)) batch.append(deltaEvent(about, item.rest));
  batch.append(
    ...calls.map(({ item, row }) => itemEvent(item, { tool: { id: row.id, name: row.name, input: row.args } })),
  );
  if (unseen) batch.append(itemEvent(whole));
  if (streamed) batch.append(itemEvent(streamed));
  const callItems = calls.map(({ item, row, refusal }) =>
    refusal === undefined ? item : endedCallItem(item, row.name, { ok: false, output: refusal }),
  );
  batch.append(...callItems.filter((each) => each.status !== 'in_progress').map((each) => itemEvent(each)));
  const born = [...(unseen ? [whole] : []), ...callItems];
  insertItems(batch, born);
  if (calls.length > 0)
    batch.later((db) =>
      db.insertInto('calls').values(
        calls.map(({ row }) => ({
          ...row,
          args: json(row.args),
          sources: row.sources && json(row.sources),
          taint: row.taint && json(row.taint),
          kind: row.kind && json(row.kind),
        })),
      ),
    );
  return born;
}
