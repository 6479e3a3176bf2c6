import { type Selectable, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { ThinkResult } from '../../../contracts/conversation.ts';
import type { Source } from '../../../contracts/taint.ts';
import { policyOf, type Verdict } from '../../../domain/consent/policy.ts';
import { visible, visibleWithin } from '../../../domain/text/foreign-text.ts';
import { cut, isOrWas } from '../../chats/ids.ts';
import { onThread, onThreadIf, requireUnchanged, type ThreadTransaction } from '../../chats/thread-transaction.ts';
import { type ItemRow, insertItems, itemEvent, itemRow } from '../../chats/threads/items.ts';
import type { WriteBatch } from '../../chats/write-batch.ts';
import { compiled } from '../../postgres/compiled-query.ts';
import { type Db, json, perDatabase, type Tx } from '../../postgres/database.ts';
import type { CallTable } from '../../schema/tables/turns.ts';

/** Stored output of a tool call of this chat; undefined when there is no such call here. */
export const findCallOutput = (
  db: Db,
  chatId: string,
  callId: string,
): Promise<Pick<Selectable<CallTable>, 'name' | 'output' | 'state' | 'sources'> | undefined> =>
  db
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .select(['calls.name', 'calls.output', 'calls.state', 'calls.sources'])
    .where(isOrWas('calls', callId))
    .where('threads.chat_id', '=', chatId)
    .executeTakeFirst();

export type Call = Selectable<CallTable>;

export const findCall = (db: Db | Tx, id: string): Promise<Call | undefined> =>
  db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirst();

/** The calls of the same answer of the model, in their order. */
export const callsBeside = (db: Db, { turn_id, step }: Pick<Call, 'turn_id' | 'step'>): Promise<Call[]> =>
  db
    .selectFrom('calls')
    .selectAll()
    .where('turn_id', '=', turn_id)
    .where('step', '=', step)
    .orderBy('position')
    .execute();

/** A call with the chat that it belongs to. */
export const findCallWithChat = (db: Db, id: string) =>
  db
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .select(['calls.name', 'calls.args', 'threads.chat_id as chatId'])
    .where('calls.id', '=', id)
    .executeTakeFirst();

/** Stores what an approval shows, with a call that has not run; the result replaces it. */
export async function notePreview(db: Db, id: string, preview: string): Promise<void> {
  await db
    .updateTable('calls')
    .set({ metadata: json({ preview }) })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .execute();
}

/** What the approval of a call has shown; null when nobody was asked, or the arguments were shown. */
export async function previewOfCall(db: Db, id: string): Promise<string | null> {
  const call = await db
    .selectFrom('calls')
    .select('metadata')
    .where('id', '=', id)
    .where('state', '!=', 'done')
    .executeTakeFirst();
  return typeof call?.metadata?.preview === 'string' ? call.metadata.preview : null;
}

export interface Outcome {
  ok: boolean;
  output: string;
  metadata?: Record<string, unknown>;
  /** sources of foreign text in the output; empty when the words are ours */
  sources?: readonly Source[];
  /** what the person is told meanwhile: a status item before the end of the call's item, stored with the result */
  told?: { summary: string; detail: string; metadata: Record<string, unknown> };
}

/**
 * The item of a call that has ended. A tool's output is foreign text, and screens write items to terminals. So what a
 * terminal would act on, or a person cannot see, stays only in the result that the model reads.
 */
export function endedCallItem(item: ItemRow, name: string, outcome: Outcome): ItemRow {
  const output = visible(outcome.output);
  return {
    ...item,
    status: outcome.ok ? 'completed' : 'failed',
    summary: cut(`${name}: ${output}`, 280),
    detail: output,
    metadata: outcome.metadata ? visibleWithin(outcome.metadata) : item.metadata,
    ended_at: new Date(),
  };
}

/** Stores a call's result once; the first outcome counts. */
export async function settleCall(tx: ThreadTransaction, callId: string, outcome: Outcome): Promise<void> {
  const item = await tx.now
    .selectFrom('calls')
    .innerJoin('items', 'items.id', 'calls.item_id')
    .selectAll('items')
    .select('calls.name')
    .where('calls.id', '=', callId)
    .where('calls.state', '!=', 'done')
    .executeTakeFirst();
  if (!item) return;
  const { name, ord: _, ...open } = item;
  writeOutcome(tx, callId, name, open, outcome);
}

/** The rows and events of a result; those of the item only while it is open. */
function writeOutcome(batch: WriteBatch, callId: string, name: string, item: ItemRow, outcome: Outcome): void {
  const { ok, output, metadata, sources = [], told } = outcome;
  batch.later((db) =>
    db
      .updateTable('calls')
      .set({
        state: 'done',
        ok,
        output,
        metadata: metadata ? json(metadata) : null,
        sources: json(sources),
        ended_at: new Date(),
      })
      .where('id', '=', callId),
  );
  if (told) {
    const note = itemRow({
      id: `item_${callId}p`,
      turnId: item.turn_id,
      threadId: item.thread_id,
      kind: 'status',
      status: 'completed',
      ...told,
    });
    insertItems(batch, [note]);
    batch.append(itemEvent(note));
  }
  if (item.status !== 'in_progress') return;
  const ended = endedCallItem(item, name, outcome);
  const { status, summary, detail, ended_at } = ended;
  batch.later((db) =>
    db
      .updateTable('items')
      .set({ status, summary, detail, metadata: ended.metadata && json(ended.metadata), ended_at })
      .where('id', '=', item.id),
  );
  batch.append(itemEvent(ended));
}

export const settle = (db: Db, call: Pick<Call, 'id' | 'thread_id'>, outcome: Outcome): Promise<void> =>
  onThread(db, call.thread_id, (tx) => settleCall(tx, call.id, outcome));

const requireUnsettled = compiled('require_unsettled', (_, callId: string) =>
  requireUnchanged(sql`exists (select from calls join items on items.id = calls.item_id
    where calls.id = ${callId} and calls.state <> 'done' and items.status = 'in_progress' and items.metadata is null)`),
);

/** The same for a running call, in one round trip unless something else ended it. */
export async function settleBegun(db: Db, call: BegunCall, outcome: Outcome): Promise<void> {
  const { id, name, item_id, turn_id, thread_id, item_started_at, item_kind } = call;
  const item: ItemRow = {
    ...itemRow({
      id: item_id,
      turnId: turn_id,
      threadId: thread_id,
      kind: item_kind ?? 'tool_call',
      status: 'in_progress',
      summary: '',
    }),
    started_at: item_started_at,
  };
  if (!(await onThreadIf(db, thread_id, requireUnsettled(id), (batch) => writeOutcome(batch, id, name, item, outcome))))
    await settle(db, call, outcome);
}

/** A call with the data of its item that its result needs; only the result changes them. */
export type BegunCall = Call & { item_started_at: Date | null; item_kind: ItemRow['kind'] | null };

/** Calls that this process has just stored: one without an effect may begin without being read again. */
const freshCalls = perDatabase(() => new LRUCache<string, { call: BegunCall; chatId: string }>({ max: 500 }));

export const keepFresh = (db: Db, call: BegunCall, chatId: string): void =>
  void freshCalls(db).set(call.id, { call, chatId });

const begin = compiled('begin_call', (db, callId: string, now: Date, unmarked: readonly string[]) =>
  db
    .with('marked', (w) =>
      w
        .updateTable('calls')
        .set({ state: 'running', started_at: now })
        .where('id', '=', callId)
        .where('state', '=', 'pending')
        .where('name', '!=', sql<string>`all(${unmarked})`)
        .returning('id'),
    )
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .leftJoin('items', 'items.id', 'calls.item_id')
    .leftJoin('marked', 'marked.id', 'calls.id')
    .leftJoin('steps', (join) =>
      join
        .onRef('steps.turn_id', '=', 'calls.turn_id')
        .onRef('steps.step', '=', 'calls.step')
        .on('calls.policy', 'is', null),
    )
    .selectAll('calls')
    .select([
      'threads.chat_id',
      'items.started_at as item_started_at',
      'items.kind as item_kind',
      'marked.id as marked',
      'steps.result as step_result',
    ])
    .select((e) =>
      e
        .exists(
          e
            .selectFrom('questions')
            .select('questions.id')
            .whereRef('questions.id', '=', 'calls.id')
            .where('questions.kind', '=', 'approval')
            .where('questions.state', '=', 'answered')
            .where('questions.decision', '=', 'allow')
            .where('questions.decided_by', 'is not', null)
            .where('questions.decided_at', 'is not', null),
        )
        .as('allowed'),
    )
    .where('calls.id', '=', callId),
);

/**
 * Marks a call as begun and returns it with its chat; null when it does not exist. A `once` call that had already begun
 * (`again`) must not run again. Calls of tools in `unmarked` have no effect, so they begin without a write.
 */
export async function beginCall(db: Db, callId: string, unmarked: readonly string[] = []): Promise<Begun | null> {
  const fresh = freshCalls(db).get(callId);
  freshCalls(db).delete(callId);
  if (fresh?.call.policy === 'run' && unmarked.includes(fresh.call.name))
    return { how: 'begun', policy: 'run', allowed: false, ...fresh };
  const [call] = (await db.executeQuery(begin(callId, new Date(), unmarked))).rows;
  if (!call) return null;
  const begun = call.marked !== null || (call.state === 'pending' && unmarked.includes(call.name));
  const how = begun ? 'begun' : call.state === 'done' ? 'done' : 'again';
  return {
    how,
    call,
    chatId: call.chat_id,
    policy: recordedPolicy(call, call.step_result),
    allowed: call.allowed === true,
  };
}

interface Begun {
  how: 'begun' | 'again' | 'done';
  call: BegunCall;
  chatId: string;
  policy: Verdict;
  /** a person has allowed exactly this call, and the store has who and when */
  allowed: boolean;
}

/**
 * A call from before verdicts were recorded has that of its step. Without a step nobody knows, so it must be asked for.
 */
const recordedPolicy = (call: Pick<Call, 'name' | 'danger' | 'policy'>, step: ThinkResult | null): Verdict =>
  call.policy ?? (step ? policyOf(call, step.autonomy, step.autoApprove) : 'ask');
