import { sql } from 'kysely';
import type { Arrival, TrustLevel } from '../../contracts/conversation.ts';
import { type Channel, outboxId } from '../../contracts/ids.ts';
import type { Sink } from '../../contracts/taint.ts';
import { ALWAYS_HERE } from '../../domain/consent/kinds.ts';
import { visibleLine } from '../../domain/text/evidence.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { derivedId } from '../chats/ids.ts';
import { receive } from '../chats/messages/inbox.ts';
import { dropOutgoing } from '../chats/messages/outbox.ts';
import type { ThreadTransaction } from '../chats/thread-transaction.ts';
import { addItem } from '../chats/threads/items.ts';
import type { Db, Tx } from '../postgres/database.ts';
import { addCompleteTurn } from './complete-turn.ts';
import { takeRulesBack } from './steps/kinds.ts';
import { takeGrantsBack } from './steps/taint.ts';
import { addSummary } from './steps/transcript.ts';
import { addUserItem } from './turns.ts';

interface Reply {
  inboxId: string;
  said: string;
  body: string;
}

export const turnOfReply = (inboxId: string): string => derivedId('msg_', inboxId).replace('msg_', 'turn_');

/** A reply without a model: a complete turn, which may exist beside a running one. */
export async function replyNow(tx: ThreadTransaction, reply: Reply): Promise<Arrival> {
  const turnId = turnOfReply(reply.inboxId);
  const out = outboxId(turnId, 'reply');
  const { threadId, chatId } = tx;
  await addReply(tx, reply, () =>
    tx.now
      .insertInto('outbox')
      .values({ id: out, chat_id: chatId, thread_id: threadId, turn_id: turnId, kind: 'answer', body: reply.body })
      .execute(),
  );
  return { kind: 'reply', inboxId: reply.inboxId, outboxId: out };
}

/** The turn of a reply on the thread; `send` puts what else goes out into the same turn. */
export async function addReply(
  tx: ThreadTransaction,
  { inboxId, said, body }: Reply,
  send: () => Promise<unknown> = async () => {},
): Promise<void> {
  const turnId = turnOfReply(inboxId);
  const { threadId } = tx;
  await addCompleteTurn(tx, { id: turnId, summary: said }, async () => {
    addUserItem(tx, { id: derivedId('item_', turnId, 'user'), turnId, text: said, announceStart: true, unheard: true });
    await addItem(tx, {
      id: derivedId('item_', turnId, 'reply'),
      turnId,
      threadId,
      kind: 'agent_message',
      status: 'completed',
      summary: body,
      detail: body,
    });
    await send();
  });
}

/** The text of the reply to a message that was answered without a model. */
export const replyTo = async (db: Db, inboxId: string): Promise<string | null> => {
  const out = outboxId(turnOfReply(inboxId), 'reply');
  return (await db.selectFrom('outbox').select('body').where('id', '=', out).executeTakeFirst())?.body ?? null;
};

/** The same text, which is said in another chat and so not sent in its own. */
export async function takeReply(db: Db, inboxId: string): Promise<string | null> {
  await dropOutgoing(db, outboxId(turnOfReply(inboxId), 'reply'), 'said in another chat');
  return await replyTo(db, inboxId);
}

/** A message that a conversation must send. */
export interface Told {
  inboxId: string;
  arrival: Arrival;
  chatId: string;
  channel: Channel;
  workflowId: string;
}

/** Lets the conversation of the chat send a row of the outbox. If its signal fails, the sweeper finds the inbox row. */
export async function sendBeside(tx: ThreadTransaction, outboxId: string): Promise<Told> {
  const { chatId } = tx;
  const inboxId = derivedId('msg_', outboxId).replace('msg_', 'inb_');
  const arrival: Arrival = { kind: 'reply', inboxId, outboxId };
  receive(tx, {
    id: inboxId,
    turnId: null,
    key: { id: `tells ${outboxId}`, fingerprint: null },
    arrival,
    body: '',
    writtenBy: [],
  });
  const { channel, workflow_id } = await tx.now
    .selectFrom('chats')
    .select(['channel', 'workflow_id'])
    .where('id', '=', chatId)
    .executeTakeFirstOrThrow();
  return { inboxId, arrival, chatId, channel, workflowId: workflow_id };
}

/** A note beside a running turn: an outbox row and a line on the screens. */
export async function notify(
  tx: ThreadTransaction,
  note: { turnId: string; key: string; body: string },
): Promise<string> {
  const { threadId, chatId } = tx;
  const { turnId, body } = note;
  const id = outboxId(turnId, `note_${note.key}`);
  await tx.now
    .insertInto('outbox')
    .values({ id, chat_id: chatId, thread_id: threadId, turn_id: turnId, kind: 'notice', body })
    .execute();
  await addItem(tx, {
    id: derivedId('item_', id),
    turnId,
    threadId,
    kind: 'status',
    status: 'completed',
    summary: body,
    detail: body,
  });
  return id;
}

/**
 * Begins a new conversation in a thread: the model no longer sees what was said and read before, and has the core of
 * its tools.
 */
export async function beginAnew(tx: Tx, threadId: string, say: Say = english): Promise<string> {
  const { upto } = await tx
    .selectFrom('transcript')
    .select((e) => e.fn.coalesce(e.fn.max('ord'), sql<number>`0`).as('upto'))
    .where('thread_id', '=', threadId)
    .executeTakeFirstOrThrow();
  if (upto > 0) await addSummary(tx, threadId, upto, '', []);
  await tx.updateTable('threads').set({ families: null }).where('id', '=', threadId).execute();
  return say('new.begun');
}

/** A level of trust that is set. `model`: who judges in a judged chat; null: rules alone. */
interface Trusted {
  threadId: string;
  chatId: string;
  autonomy: TrustLevel;
  model?: string | null;
  shared: boolean;
  owned: boolean;
}

/** Sets the autonomy and takes back "yes all"; returns the reply. In a group a word can only reduce trust. */
export async function trust(
  tx: Tx,
  { threadId, chatId, autonomy, model = null, shared, owned }: Trusted,
  say: Say = english,
): Promise<string> {
  if (!owned) return say('trust.owner');
  if (shared && autonomy !== 'supervised') return say('trust.group');
  const judged = autonomy === 'judged';
  await tx
    .updateTable('chats')
    .set({ autonomy: judged ? 'cautious' : autonomy, judged, ...(judged && { judge_model: model }) })
    .where('id', '=', chatId)
    .execute();
  if (autonomy === 'supervised') await takeBack(tx, chatId, null);
  await tx.updateTable('threads').set({ auto_approve: false }).where('id', '=', threadId).execute();
  await tx
    .updateTable('turns')
    .set({ auto_approve: null })
    .where('thread_id', '=', threadId)
    .where('status', '=', 'in_progress')
    .execute();
  return {
    supervised: say('trust.supervised'),
    cautious: say('trust.cautious'),
    judged:
      model === null
        ? say('trust.judged', { words: ALWAYS_HERE })
        : say('trust.judgedBy', { words: ALWAYS_HERE, model: visibleLine(model) }),
    autonomous: say('trust.autonomous'),
  }[autonomy];
}

/** Takes back what was allowed for good: one sink, or everything. Returns it in words. */
export const takeBack = async (tx: Tx, chatId: string, sink: Sink | null): Promise<string[]> => [
  ...(await takeGrantsBack(tx, chatId, sink)),
  ...(sink === null ? await takeRulesBack(tx, chatId) : []),
];
