import { sql } from 'kysely';
import type { Arrival, Autonomy } from '../../contracts/conversation.ts';
import { outboxId } from '../../contracts/ids.ts';
import { moneyText } from '../../domain/model/price-book.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { tasksOfChat } from '../kennel/tasks.ts';
import type { Tx } from '../postgres/database.ts';
import { waitOfTurn } from '../turns/model-waits.ts';
import { spentToday } from '../turns/spending.ts';
import { grantsOf, takeGrantsBack } from '../turns/taint.ts';
import { addSummary } from '../turns/transcript.ts';
import { addCompleteTurn, addUserItem } from '../turns/turns.ts';
import { deliveryFigures } from '../whatsapp/sends.ts';
import { cut, derivedId } from './ids.ts';
import { addItem } from './items.ts';

/**
 * A reply that needs no model: a turn that is complete from the start, so it may stand beside one that runs.
 * The caller holds `lockThread`.
 */
export async function replyNow(tx: Tx, reply: { threadId: string; chatId: string; inboxId: string; said: string; body: string }): Promise<Arrival> {
  const turnId = derivedId('msg_', reply.inboxId).replace('msg_', 'turn_');
  const out = outboxId(turnId, 'reply');
  const { threadId, body, said } = reply;
  await addCompleteTurn(tx, { id: turnId, threadId, summary: said }, async () => {
    await addUserItem(tx, { id: derivedId('item_', turnId, 'user'), turnId, threadId, text: said, announceStart: true, unheard: true });
    await addItem(tx, { id: derivedId('item_', turnId, 'reply'), turnId, threadId, kind: 'agent_message', status: 'completed', summary: body, detail: body });
    await tx.insertInto('outbox').values({ id: out, chat_id: reply.chatId, thread_id: threadId, turn_id: turnId, kind: 'answer', body }).execute();
  });
  return { kind: 'reply', inboxId: reply.inboxId, outboxId: out };
}

/** Tells something beside a turn that runs: an outbox row and a line on the screens. The caller holds `lockThread`. */
export async function notify(tx: Tx, note: { threadId: string; chatId: string; turnId: string; key: string; body: string }): Promise<string> {
  const { threadId, turnId, body } = note;
  const id = outboxId(turnId, `note_${note.key}`);
  await tx.insertInto('outbox').values({ id, chat_id: note.chatId, thread_id: threadId, turn_id: turnId, kind: 'notice', body }).execute();
  await addItem(tx, { id: derivedId('item_', id), turnId, threadId, kind: 'status', status: 'completed', summary: body, detail: body });
  return id;
}

/** What runs, what it waits for, what was spent today: from the store, so it works while the model is down. */
export async function statusText(tx: Tx, threadId: string, chatId: string): Promise<string> {
  const active = await tx.selectFrom('turns').selectAll().where('thread_id', '=', threadId).where('status', '=', 'in_progress').executeTakeFirst();
  const open = await tx.selectFrom('questions').selectAll().where('thread_id', '=', threadId).where('state', '=', 'open').execute();
  const calls = active ? await tx.selectFrom('calls').select(['name', 'state']).where('turn_id', '=', active.id).execute() : [];
  const today = await spentToday(tx, chatId);
  const lines: string[] = [];
  if (active) {
    const seconds = Math.round((Date.now() - (active.started_at ?? active.created_at).getTime()) / 1000);
    lines.push(`Working for ${seconds} s on: ${cut(active.input_summary, 120)}`);
    const done = calls.filter((call) => call.state === 'done').length;
    const running = calls.filter((call) => call.state === 'running').map((call) => call.name);
    const wait = await waitOfTurn(tx, active.id);
    if (wait) lines.push(`Waiting for ${wait}`);
    if (calls.length > 0) lines.push(`Tool calls: ${done} done${running.length > 0 ? `, running now: ${running.join(', ')}` : ''}`);
  }
  const tasks = await tasksOfChat(tx, chatId, { live: true, limit: 10 });
  if (!active && tasks.length === 0) lines.push('Nothing is running.');
  for (const task of tasks) {
    const minutes = Math.round((Date.now() - (task.started_at ?? task.created_at).getTime()) / 60_000);
    lines.push(`Task ${task.id} (${task.harness} in ${task.workspace}) ${task.state}, ${minutes} min: ${inline(task.last ?? task.goal, 120)}`);
  }
  for (const question of open) lines.push(`Waiting for your answer: ${inline(question.prompt, 200)}`);
  const grants = [...(await grantsOf(tx, chatId))];
  if (grants.length > 0) lines.push(`Allowed for good in this chat: ${grants.join(', ')} (\`ask again\` takes it back)`);
  lines.push(`Today: ${today.tokens} tokens, ${moneyText(today)}`);
  const { sent, delivered, read, failed } = await deliveryFigures(tx, { chatId }, new Date(Date.now() - 86_400_000));
  if (sent + delivered + read + failed > 0)
    lines.push(`My messages here in the last day: ${read} read, ${delivered} delivered, ${sent} sent, ${failed} failed`);
  return lines.join('\n');
}

/** Leaves behind what was said and read in a thread: the model sees nothing of it any more, so nothing of it can speak to the model. */
export async function beginAnew(tx: Tx, threadId: string): Promise<string> {
  const { upto } = await tx
    .selectFrom('transcript')
    .select((e) => e.fn.coalesce(e.fn.max('ord'), sql<number>`0`).as('upto'))
    .where('thread_id', '=', threadId)
    .executeTakeFirstOrThrow();
  if (upto > 0) await addSummary(tx, threadId, upto, '', []);
  return 'A new conversation: I have left behind what was said and read before. Tasks, workflows and what you allowed stay.';
}

/** Sets how much is done without asking, and takes back what "yes all" allowed; what to say about it. Where several people write, trust can only be taken back by a word. */
export async function trust(
  tx: Tx,
  { threadId, chatId, autonomy, shared, owned }: { threadId: string; chatId: string; autonomy: Autonomy; shared: boolean; owned: boolean },
): Promise<string> {
  if (!owned) return 'Only the owner sets how much I do without asking.';
  if (shared && autonomy !== 'supervised') return 'In a group I can only be made more careful by a word: say "supervised".';
  await tx.updateTable('chats').set({ autonomy }).where('id', '=', chatId).execute();
  if (autonomy === 'supervised') await takeGrantsBack(tx, chatId, null);
  await tx.updateTable('threads').set({ auto_approve: false }).where('id', '=', threadId).execute();
  await tx.updateTable('turns').set({ auto_approve: null }).where('thread_id', '=', threadId).where('status', '=', 'in_progress').execute();
  return {
    supervised: 'From now on I ask before everything that changes something.',
    cautious: 'From now on I ask before what is dangerous: commands, deletions.',
    autonomous: 'From now on I do everything without asking, but for what text of others may have led to. Say "supervised" or "cautious" to change that.',
  }[autonomy];
}
