import { type Selectable, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { NamedCall } from '../../contracts/conversation.ts';
import { outboxId } from '../../contracts/ids.ts';
import type { ItemStatus, TurnRecord, TurnStatus, TurnUsage } from '../../contracts/records.ts';
import type { Source } from '../../contracts/taint.ts';
import { cut, derivedId, freshId } from '../chats/ids.ts';
import { dropUnsent } from '../chats/messages/outbox.ts';
import type { ThreadTransaction } from '../chats/thread-transaction.ts';
import { endUnfinished, insertItems, itemEvent, itemRow, toItemRecord } from '../chats/threads/items.ts';
import type { NewEvent, WriteBatch } from '../chats/write-batch.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { StepTable, TurnTable } from '../schema/tables/turns.ts';
import { type Heard, remember } from './steps/transcript.ts';

export async function toTurnRecord(db: Db | Tx, row: Selectable<TurnTable>): Promise<TurnRecord> {
  const items = await db.selectFrom('items').select('id').where('turn_id', '=', row.id).orderBy('ord').execute();
  return turnRecord(
    row,
    items.map((item) => item.id),
  );
}

export const turnRecord = (row: Selectable<TurnTable>, itemIds: string[]): TurnRecord => ({
  schema_version: 2,
  id: row.id,
  thread_id: row.thread_id,
  status: row.status,
  input_summary: row.input_summary,
  created_at: row.created_at.toISOString(),
  ...(row.started_at && { started_at: row.started_at.toISOString() }),
  ...(row.ended_at && { ended_at: row.ended_at.toISOString() }),
  ...(row.ended_at && row.started_at && { duration_ms: row.ended_at.getTime() - row.started_at.getTime() }),
  ...(row.usage && { usage: usageInOrder(row.usage) }),
  ...(row.error !== null && { error: row.error }),
  item_ids: itemIds,
  steer_count: row.steer_count,
});

/** The database keeps the fields of JSON in another order than the contract. */
const usageInOrder = ({ input_tokens, output_tokens, ...parts }: TurnUsage): TurnUsage => ({
  input_tokens,
  output_tokens,
  ...(parts.prompt_cache_hit_tokens !== undefined && {
    prompt_cache_hit_tokens: parts.prompt_cache_hit_tokens,
    prompt_cache_miss_tokens: parts.prompt_cache_miss_tokens ?? 0,
    reasoning_tokens: parts.reasoning_tokens ?? 0,
  }),
});

export const findTurn = (db: Db | Tx, id: string): Promise<Selectable<TurnTable> | undefined> =>
  db.selectFrom('turns').selectAll().where('id', '=', id).executeTakeFirst();

export const activeTurn = (db: Db | Tx, threadId: string): Promise<Selectable<TurnTable> | undefined> =>
  db
    .selectFrom('turns')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('status', '=', 'in_progress')
    .executeTakeFirst();

export async function isTurnRunning(db: Db | Tx, id: string): Promise<boolean> {
  const turn = await db.selectFrom('turns').select('status').where('id', '=', id).executeTakeFirst();
  return turn?.status === 'in_progress';
}

/** Another message came while the turn ran. */
export async function countSteer(tx: Tx, id: string): Promise<void> {
  await tx
    .updateTable('turns')
    .set((e) => ({ steer_count: e('steer_count', '+', 1) }))
    .where('id', '=', id)
    .execute();
}

interface NewTurn {
  text: string;
  inputSummary?: string;
  model?: string | null;
  autoApprove?: boolean | null;
  mode?: string | null;
  allowShell?: boolean | null;
  /** it consists of this call */
  call?: NamedCall | null;
  /** the text is in the transcript already */
  unheard?: boolean;
  /** the text as the model reads it, where that is another */
  forModel?: string;
  /** sources of the text */
  heard?: Heard;
  /** what the person is told at its beginning */
  notice?: string;
  /** the run of a schedule that begins it */
  runId?: string;
  /** what others said in the group before it */
  before?: Before | null;
}

/** A message of the dialogue that stands before the message of a person; no screen shows it. */
export interface Before {
  id: string;
  /** its place in the dialogue: writes of one transaction go out together, in no certain order */
  ord: number;
  content: string;
  sources: readonly Source[];
}

export const rememberBefore = (batch: WriteBatch, turnId: string, before: Before | null | undefined): void => {
  if (before) remember(batch, { ...before, turnId, role: 'user', words: '' });
};

type TurnSettings = Pick<NewTurn, 'model' | 'autoApprove' | 'mode' | 'allowShell' | 'call' | 'runId'>;

/** Adds a turn that is in progress; the caller tells of it. */
function insertTurn(
  tx: ThreadTransaction,
  id: string,
  turn: TurnSettings & { summary: string; compaction: boolean },
): Selectable<TurnTable> {
  const now = new Date();
  const row: Selectable<TurnTable> = {
    id,
    thread_id: tx.threadId,
    status: 'in_progress',
    input_summary: cut(turn.summary, 280),
    usage: null,
    micro_usd: 0,
    error: null,
    steer_count: 0,
    auto_approve: turn.autoApprove ?? null,
    model: turn.model ?? null,
    mode: turn.mode ?? null,
    allow_shell: turn.allowShell ?? null,
    call: turn.call ?? null,
    extensions: null,
    delay_told: false,
    compaction: turn.compaction,
    run_id: turn.runId ?? null,
    // the clock of the database orders turns
    created_at: tx.at,
    started_at: now,
    ended_at: null,
  };
  tx.later((db) =>
    db.insertInto('turns').values({ ...row, usage: null, extensions: null, call: row.call && json(row.call) }),
  );
  tx.later((db) =>
    db
      .updateTable('threads')
      .set({ latest_turn_id: id, updated_at: now, deleted_at: null })
      .where('id', '=', tx.threadId),
  );
  return row;
}

/** Opens a turn that only sums up what was said before. The caller knows that no turn runs. */
export function openCompaction(tx: ThreadTransaction, reason: string): TurnRecord {
  const id = freshId('turn_');
  const record = turnRecord(insertTurn(tx, id, { summary: reason, compaction: true }), []);
  tx.append({ event: 'turn.started', turnId: id, payload: { turn: record, manual_compaction: true } });
  return record;
}

/**
 * Opens a turn with its user message, with events in the order that clients expect. The caller knows that no turn runs.
 */
export function openTurn(tx: ThreadTransaction, input: NewTurn): TurnRecord {
  const id = freshId('turn_');
  const itemId = derivedId('item_', id, 'user');
  const row = insertTurn(tx, id, { ...input, summary: input.inputSummary?.trim() || input.text, compaction: false });
  const notice =
    input.notice === undefined
      ? []
      : [
          itemRow({
            id: derivedId('item_', id, 'notice'),
            turnId: id,
            threadId: tx.threadId,
            kind: 'status',
            status: 'completed',
            summary: input.notice,
            detail: input.notice,
          }),
        ];
  const record = turnRecord(row, [itemId, ...notice.map((item) => item.id)]);
  rememberBefore(tx, id, input.before);
  const said = insertUserItem(tx, {
    id: itemId,
    turnId: id,
    text: input.text,
    announceStart: true,
    unheard: input.unheard,
    forModel: input.forModel,
    heard: input.heard,
  });
  insertItems(tx, notice);
  tx.append(
    { event: 'turn.started', turnId: id, payload: { turn: record } },
    ...said,
    { event: 'turn.lifecycle', turnId: id, payload: { status: 'in_progress' } },
    ...notice.map((item) => itemEvent(item)),
  );
  return record;
}

/** A turn with everything that its end depends on. */
export interface TurnState {
  turn: Selectable<TurnTable>;
  /** in their order */
  items: Array<{ id: string; kind: string; status: ItemStatus }>;
  openQuestions: string[];
  /** by its steps so far */
  used: Array<
    Pick<Selectable<StepTable>, 'input_tokens' | 'output_tokens' | 'cached_tokens' | 'reasoning_tokens' | 'micro_usd'>
  >;
}

/** As the database has it; the caller has sent what was pending. */
export async function turnState(tx: Tx, turnId: string): Promise<TurnState | null> {
  const row = await selectTurnState(tx, turnId).executeTakeFirst();
  return row ? toTurnState(row) : null;
}

export const selectTurnState = (tx: Tx, turnId: string) =>
  tx
    .selectFrom('turns')
    .selectAll('turns')
    .select((e) => [
      jsonArrayFrom(
        e
          .selectFrom('items')
          .select(['items.id', 'items.kind', 'items.status'])
          .where('items.turn_id', '=', turnId)
          .orderBy('items.ord'),
      ).as('items'),
      jsonArrayFrom(
        e
          .selectFrom('questions')
          .select('questions.id')
          .where('questions.turn_id', '=', turnId)
          .where('questions.state', '=', 'open'),
      ).as('questions'),
      jsonArrayFrom(
        e
          .selectFrom('steps')
          .select(['input_tokens', 'output_tokens', 'cached_tokens', 'reasoning_tokens', 'steps.micro_usd'])
          .where('steps.turn_id', '=', turnId),
      ).as('steps'),
    ])
    .where('turns.id', '=', turnId);

type TurnStateRow = NonNullable<Awaited<ReturnType<ReturnType<typeof selectTurnState>['executeTakeFirst']>>>;

export function toTurnState({ items, questions, steps, ...turn }: TurnStateRow): TurnState {
  return { turn, items, openQuestions: questions.map((question) => question.id), used: steps };
}

const sumOf = <Row>(rows: readonly Row[], count: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + count(row), 0);

function usageOf(steps: TurnState['used']): TurnUsage {
  // an endpoint may count more from its cache than it was sent
  const hit = sumOf(steps, ({ cached_tokens, input_tokens }) => Math.min(cached_tokens, input_tokens));
  const input = sumOf(steps, ({ input_tokens }) => input_tokens);
  return {
    input_tokens: input,
    output_tokens: sumOf(steps, ({ output_tokens }) => output_tokens),
    prompt_cache_hit_tokens: hit,
    prompt_cache_miss_tokens: input - hit,
    reasoning_tokens: sumOf(steps, ({ reasoning_tokens }) => reasoning_tokens),
  };
}

/** Counts a turn again where what it used became known after its end. */
export async function recountEnded(tx: ThreadTransaction, turnId: string): Promise<void> {
  await tx.sendPending();
  const state = await turnState(tx.now, turnId);
  if (!state?.turn.ended_at) return;
  const used = { usage: json(usageOf(state.used)), micro_usd: sumOf(state.used, ({ micro_usd }) => micro_usd) };
  tx.later((db) => db.updateTable('turns').set(used).where('id', '=', turnId));
}

/** What a turn has asked about money in the chat that pays, which may be another one, is asked no more. */
async function withdrawBudgets(tx: Tx, turnId: string, at: Date): Promise<void> {
  const asked = await tx
    .updateTable('questions')
    .set({ state: 'cancelled', decided_at: at })
    .where('state', '=', 'open')
    .where('budget', 'is not', null)
    .where(sql<boolean>`starts_with(id, ${`${turnId}_budget`})`)
    .returning(['id', 'turn_id'])
    .execute();
  await dropUnsent(
    tx,
    asked.map((question) => outboxId(question.turn_id, question.id)),
  );
}

/** Closes a turn in progress, with its open items and questions. */
export async function closeTurn(
  tx: ThreadTransaction,
  state: TurnState,
  status: Exclude<TurnStatus, 'queued' | 'in_progress'>,
  error?: string,
): Promise<void> {
  const { id } = state.turn;
  const usage = usageOf(state.used);
  const micro_usd = sumOf(state.used, ({ micro_usd }) => micro_usd);
  const end = { status, ended_at: new Date(), error: error ?? null, micro_usd };
  tx.later((db) =>
    db
      .updateTable('turns')
      .set({ ...end, usage: json(usage) })
      .where('id', '=', id),
  );
  // no item keeps spinning
  for (const item of state.items)
    if (item.status === 'in_progress') await endUnfinished(tx, item, status === 'failed' ? 'failed' : 'interrupted');
  if (state.openQuestions.length > 0) {
    await tx.now
      .updateTable('questions')
      .set({ state: 'cancelled', decided_at: end.ended_at })
      .where('id', 'in', state.openQuestions)
      .execute();
    await dropUnsent(
      tx.now,
      state.openQuestions.map((question) => outboxId(id, question)),
    );
  }
  if (status !== 'completed') await withdrawBudgets(tx.now, id, end.ended_at);
  tx.later((db) => db.updateTable('threads').set({ updated_at: end.ended_at }).where('id', '=', tx.threadId));
  const record = turnRecord(
    { ...state.turn, ...end, usage },
    state.items.map((item) => item.id),
  );
  tx.append({ event: 'turn.completed', turnId: id, payload: { turn: record } });
}

/**
 * A user message: complete from the start, announced as started and completed at once (a steering message only as
 * completed).
 */
export const addUserItem = (batch: WriteBatch, item: UserItem): void => batch.append(...insertUserItem(batch, item));

interface UserItem {
  id: string;
  turnId: string;
  text: string;
  announceStart: boolean;
  /** answered without the model, so the model does not read it */
  unheard?: boolean;
  /** as the model reads it, where that is another text */
  forModel?: string;
  /** sources of the text */
  heard?: Heard;
}

/** Inserts the rows of a user message, and returns its events for the caller to append. */
function insertUserItem(batch: WriteBatch, item: UserItem): NewEvent[] {
  const { threadId } = batch;
  const { id, turnId, text } = item;
  const row = itemRow({ id, turnId, threadId, kind: 'user_message', status: 'completed', summary: text, detail: text });
  insertItems(batch, [row]);
  if (!item.unheard) {
    const content = item.forModel ?? text;
    remember(batch, { id: derivedId('msg_', id), turnId, role: 'user', content, ...item.heard });
  }
  const names = item.announceStart ? ['item.started', 'item.completed'] : ['item.completed'];
  return names.map((event) => ({ event, turnId, itemId: id, payload: { item: toItemRecord(row) } }));
}
