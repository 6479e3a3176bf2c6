import { type Selectable, sql } from 'kysely';
import type { Autonomy } from '../../../contracts/conversation.ts';
import { type Channel, conversationId } from '../../../contracts/ids.ts';
import type { ThreadRecord } from '../../../contracts/records.ts';
import type { ToolAccess } from '../../../domain/consent/policy.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import type { ThreadTable } from '../../schema/tables/chats.ts';
import { groupOfChat } from '../groups.ts';
import { freshId } from '../ids.ts';
import { type RequestKey, takeForThread } from '../request-keys.ts';
import { lockThread, type ThreadTransaction } from '../thread-transaction.ts';

export const chatAutonomy = async (db: Db, chatId: string) =>
  (await db.selectFrom('chats').select(['autonomy', 'channel']).where('id', '=', chatId).executeTakeFirst()) ?? null;

/** What the thread of a chat permits to tools; a routine run has no turn of its own. */
export async function chatAccess(db: Db, chatId: string): Promise<ToolAccess | null> {
  const access = await db
    .selectFrom('threads')
    .select(['mode', 'allow_shell as allowShell'])
    .where('chat_id', '=', chatId)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return access ? { ...access, families: (await groupOfChat(db, chatId))?.rule.families } : null;
}

/** The thread of a chat that was used last; a routine run belongs to none. */
export const latestThread = (db: Db, chatId: string): Promise<{ id: string } | undefined> =>
  db
    .selectFrom('threads')
    .select('id')
    .where('chat_id', '=', chatId)
    .orderBy('updated_at', 'desc')
    .limit(1)
    .executeTakeFirst();

/** Whether coding tasks of a thread begin with a plan; null leaves it to the model and to the size of the goal. */
export async function setPlanFirst(tx: Tx, threadId: string, first: boolean | null): Promise<void> {
  await tx.updateTable('threads').set({ plan_first: first }).where('id', '=', threadId).execute();
}

/** As it was set; null when it was not. */
export const planFirst = async (db: Db | Tx, threadId: string): Promise<boolean | null> =>
  (await db.selectFrom('threads').select('plan_first').where('id', '=', threadId).executeTakeFirst())?.plan_first ??
  null;

export interface NewThread {
  channel: Channel;
  /** the chat's address on its channel; an API thread is its own chat */
  address?: string;
  model: string;
  workspace: string;
  mode: string;
  allow_shell: boolean;
  trust_mode: boolean;
  auto_approve: boolean;
  archived: boolean;
  system_prompt?: string | null;
  task_id?: string | null;
  title?: string | null;
  /** the thread that it is a copy of */
  forked_from?: string;
  autonomy: Autonomy;
  chatKey: (address: string) => string;
  /** the same key gives the same thread */
  key?: RequestKey;
  /** what else is made in its transaction; not with a repeated key */
  also?: (tx: ThreadTransaction, thread: ThreadRecord) => void;
}

export const toThreadRecord = (row: Selectable<ThreadTable>): ThreadRecord => ({
  schema_version: 2,
  id: row.id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  model: row.model,
  workspace: row.workspace,
  mode: row.mode,
  allow_shell: row.allow_shell,
  trust_mode: row.trust_mode,
  auto_approve: row.auto_approve,
  ...(row.latest_turn_id !== null && { latest_turn_id: row.latest_turn_id }),
  archived: row.archived || row.deleted_at !== null,
  ...(row.system_prompt !== null && { system_prompt: row.system_prompt }),
  ...(row.task_id !== null && { task_id: row.task_id }),
  ...(row.title !== null && { title: row.title }),
  coherence_state: 'healthy',
});

/** Creates a thread, and its chat if needed; announces `thread.started`. @throws KeyReused */
export async function createThread(db: Db, input: NewThread): Promise<ThreadRecord> {
  const id = freshId('thr_');
  return await db.transaction().execute(async (now) => {
    const before = await threadOfKey(now, input.key, id);
    if (before) return before;
    const record = await insertThread(now, id, input);
    const tx = await lockThread(now, id);
    tx.append({ event: 'thread.started', payload: { thread: record } });
    input.also?.(tx, record);
    await tx.sendPending();
    return record;
  });
}

/** The thread that was made under this key before; null for the first request, which makes `id`. @throws KeyReused */
export async function threadOfKey(now: Tx, key: RequestKey | undefined, id: string): Promise<ThreadRecord | null> {
  const before = key && (await takeForThread(now, key, id));
  return before
    ? toThreadRecord(await now.selectFrom('threads').selectAll().where('id', '=', before).executeTakeFirstOrThrow())
    : null;
}

/** Adds a thread, and its chat if needed; the caller announces it. */
export async function insertThread(now: Tx, id: string, input: NewThread): Promise<ThreadRecord> {
  const address = input.address ?? id;
  const key = input.chatKey(address);
  const made = await now
    .insertInto('chats')
    .values({
      id: `${input.channel}/${key}`,
      channel: input.channel,
      address,
      workflow_id: conversationId(input.channel, key),
      autonomy: input.autonomy,
    })
    .onConflict((c) => c.doNothing())
    .returning('id')
    .executeTakeFirst();
  // found by address, because a machine with another key for ids would compute another id
  const there = () =>
    now.selectFrom('chats').select('id').where('channel', '=', input.channel).where('address', '=', address);
  const { id: chatId } = made ?? (await there().executeTakeFirstOrThrow());
  const row = await now
    .insertInto('threads')
    .values({
      id,
      chat_id: chatId,
      model: input.model,
      workspace: input.workspace,
      mode: input.mode,
      allow_shell: input.allow_shell,
      trust_mode: input.trust_mode,
      auto_approve: input.auto_approve,
      archived: input.archived,
      system_prompt: input.system_prompt || null,
      task_id: input.task_id ?? null,
      title: input.title ?? null,
      latest_turn_id: null,
      forked_from: input.forked_from ?? null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toThreadRecord(row);
}

export async function getThread(db: Db, id: string): Promise<ThreadRecord | null> {
  const row = await db.selectFrom('threads').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? toThreadRecord(row) : null;
}

/** The chat that a thread belongs to. */
export const chatOfThread = async (db: Db, id: string): Promise<string> =>
  (await db.selectFrom('threads').select('chat_id').where('id', '=', id).executeTakeFirstOrThrow()).chat_id;

export const workflowOfChat = async (db: Db, id: string): Promise<string> =>
  (await db.selectFrom('chats').select('workflow_id').where('id', '=', id).executeTakeFirstOrThrow()).workflow_id;

export const channelOfChat = async (db: Db | Tx, id: string): Promise<Channel> =>
  (await db.selectFrom('chats').select('channel').where('id', '=', id).executeTakeFirstOrThrow()).channel;

/**
 * The thread of a chat on a channel, created on first use. `config`: what a new chat begins with. `keyOf`: the key of
 * the chat's id, which must say nothing of its address.
 */
export async function ensureThread(
  db: Db,
  config: { FETCH_WORKSPACE?: string | undefined; FETCH_AUTONOMY: Autonomy },
  { channel, address }: { channel: Channel; address: string },
  keyOf: NewThread['chatKey'],
): Promise<ThreadRecord> {
  const known = await threadOfChat(db, channel, address);
  if (known) return known;
  await createThread(db, {
    channel,
    address,
    // a chat outlives every choice of a model, so each turn uses the configured one
    model: 'auto',
    workspace: config.FETCH_WORKSPACE ?? process.cwd(),
    mode: 'agent',
    // commands ask the person each time
    allow_shell: true,
    trust_mode: false,
    auto_approve: false,
    archived: false,
    autonomy: config.FETCH_AUTONOMY,
    chatKey: keyOf,
  });
  // if two requests came at once, both get the same thread
  return (await threadOfChat(db, channel, address))!;
}

/** The one thread of a chat that is not driven over HTTP. */
async function threadOfChat(db: Db, channel: Channel, address: string): Promise<ThreadRecord | null> {
  const row = await db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .selectAll('threads')
    .where('chats.channel', '=', channel)
    .where('chats.address', '=', address)
    .orderBy('threads.created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ? toThreadRecord(row) : null;
}

/**
 * Newest first. `archived_only` wins over `include_archived`. A thread that was deleted as a session counts as
 * archived.
 */
export async function listThreads(
  db: Db,
  options: { limit?: number; include_archived: boolean; archived_only: boolean },
): Promise<ThreadRecord[]> {
  let query = db.selectFrom('threads').selectAll().orderBy('updated_at', 'desc').orderBy('id');
  if (options.archived_only)
    query = query.where((e) => e.or([e('archived', '=', true), e('deleted_at', 'is not', null)]));
  else if (!options.include_archived) query = query.where('archived', '=', false).where('deleted_at', 'is', null);
  if (options.limit !== undefined) query = query.limit(options.limit);
  return (await query.execute()).map(toThreadRecord);
}

/** Threads whose turn runs, archived ones too. */
export async function runningThreads(db: Db): Promise<ThreadRecord[]> {
  const rows = await db
    .selectFrom('threads')
    .selectAll()
    .where('id', 'in', (e) => e.selectFrom('turns').select('thread_id').where('status', '=', 'in_progress'))
    .orderBy('updated_at', 'desc')
    .orderBy('id')
    .execute();
  return rows.map(toThreadRecord);
}

const EMPTY = sql<Buffer>`''::bytea`;

/**
 * Erases what was said and sent in a thread in which no turn and no coding task is at work. What stays has no text:
 * ids, by which a message that comes again is recognised; turns and model steps with their times and costs, which
 * budgets and sums count; and where the conversation begins, for who has read it already.
 */
export async function eraseTexts(tx: ThreadTransaction): Promise<void> {
  await tx.sendPending();
  await eraseOfChannel(tx);
  await eraseMessages(tx);
  await eraseDialogue(tx);
}

/** Rows are found by their turns or their chat, which have indexes. */
const turnsOf = ({ now, threadId }: ThreadTransaction) =>
  now.selectFrom('turns').select('id').where('thread_id', '=', threadId);
const receivedIn = ({ now, threadId, chatId }: ThreadTransaction) =>
  now.selectFrom('inbox').select('id').where('chat_id', '=', chatId).where('thread_id', '=', threadId);
const sentTo = (tx: ThreadTransaction) => tx.now.selectFrom('outbox').select('id').where('turn_id', 'in', turnsOf(tx));

/** Incoming and outgoing messages. What waits to be sent is not sent any more. */
async function eraseMessages(tx: ThreadTransaction): Promise<void> {
  const { now, threadId } = tx;
  await now.updateTable('inbox').set({ body: '', written_by: null }).where('id', 'in', receivedIn(tx)).execute();
  await now.deleteFrom('group_talk').where('chat_id', '=', tx.chatId).execute();
  const sent = now.updateTable('outbox').where('id', 'in', sentTo(tx));
  await sent.set({ state: 'dropped', error: 'its session was deleted' }).where('state', '=', 'queued').execute();
  await sent.set({ body: '' }).execute();
  await now.deleteFrom('attachments').where('thread_id', '=', threadId).execute();
}

const receiptsOf = ({ now, threadId }: ThreadTransaction) =>
  now
    .selectFrom('turns')
    .select(sql<string>`'turn/' || id`.as('subject'))
    .where('thread_id', '=', threadId)
    .unionAll(
      now.selectFrom('tasks').select(sql<string>`'task/' || id`.as('subject')).where('thread_id', '=', threadId),
    );

/** Rows that the model and the screens read. */
async function eraseDialogue(tx: ThreadTransaction): Promise<void> {
  const { now, threadId } = tx;
  for (const table of ['calls', 'questions'] as const)
    await now.deleteFrom(table).where('turn_id', 'in', turnsOf(tx)).execute();
  for (const table of ['transcript', 'items'] as const)
    await now.deleteFrom(table).where('thread_id', '=', threadId).execute();
  // they name commands, so what they allow ends with them
  await now.deleteFrom('action_kinds').where('chat_id', '=', tx.chatId).execute();
  await now.deleteFrom('summaries').where('thread_id', '=', threadId).where('body', '!=', '').execute();
  await now.deleteFrom('events').where('thread_id', '=', threadId).where('event', '!=', 'thread.started').execute();
  await now
    .updateTable('turns')
    .set({ input_summary: '', error: null, call: null })
    .where('thread_id', '=', threadId)
    .execute();
  await now.updateTable('receipts').set({ body: null }).where('subject', 'in', receiptsOf(tx)).execute();
  await now.updateTable('threads').set({ title: null }).where('id', '=', threadId).execute();
}

/** Copies in the form of WhatsApp. Keys of messages stay, to recognise repetitions. */
async function eraseOfChannel(tx: ThreadTransaction): Promise<void> {
  const { now } = tx;
  await now
    .updateTable('wa_inbox')
    .set({ content: EMPTY, attrs: '{}' })
    .where('inbox_id', 'in', receivedIn(tx))
    .where('handled_at', 'is not', null)
    .execute();
  await now.deleteFrom('wa_uploads').where('outbox_id', 'in', sentTo(tx)).execute();
  const stanzas = now.updateTable('wa_sends').where('outbox_id', 'in', sentTo(tx));
  await stanzas.set({ state: 'failed', error: 'its session was deleted' }).where('state', '=', 'queued').execute();
  await stanzas.set({ content: EMPTY }).execute();
}
