import { sql } from 'kysely';
import type { Arrival } from '../contracts/conversation.ts';
import { outboxId } from '../contracts/ids.ts';
import type { Tx } from './database.ts';
import { appendEvents } from './events.ts';
import { addItem } from './items.ts';
import { cut, derivedId } from './keys.ts';
import { addUserItem, toTurnRecord, turnRecord } from './turns.ts';

/**
 * A reply that needs no model: a turn that is complete from the start, so it may stand beside one that runs.
 * The caller holds `lockThread`.
 */
export async function replyNow(tx: Tx, reply: { threadId: string; chatId: string; inboxId: string; said: string; body: string }): Promise<Arrival> {
  const turnId = derivedId('msg_', reply.inboxId).replace('msg_', 'turn_');
  const out = outboxId(turnId, 'reply');
  const now = new Date();
  const row = await tx
    .insertInto('turns')
    .values({ id: turnId, thread_id: reply.threadId, status: 'completed', input_summary: cut(reply.said, 280), started_at: now, ended_at: now })
    .returningAll()
    .executeTakeFirstOrThrow();
  await appendEvents(tx, reply.threadId, [{ event: 'turn.started', turnId, payload: { turn: turnRecord(row, []) } }]);
  await addUserItem(tx, { id: derivedId('item_', turnId, 'user'), turnId, threadId: reply.threadId, text: reply.said, announceStart: true, unheard: true });
  await addItem(tx, {
    id: derivedId('item_', turnId, 'reply'),
    turnId,
    threadId: reply.threadId,
    kind: 'agent_message',
    status: 'completed',
    summary: reply.body,
    detail: reply.body,
  });
  await tx
    .insertInto('outbox')
    .values({ id: out, chat_id: reply.chatId, thread_id: reply.threadId, turn_id: turnId, kind: 'answer', body: reply.body })
    .execute();
  await appendEvents(tx, reply.threadId, [{ event: 'turn.completed', turnId, payload: { turn: await toTurnRecord(tx, row) } }]);
  return { kind: 'reply', inboxId: reply.inboxId, outboxId: out };
}

/** What runs, what it waits for, what was spent today: from the store, so it works while the model is down. */
export async function statusText(tx: Tx, threadId: string): Promise<string> {
  const active = await tx.selectFrom('turns').selectAll().where('thread_id', '=', threadId).where('status', '=', 'in_progress').executeTakeFirst();
  const open = await tx.selectFrom('questions').selectAll().where('thread_id', '=', threadId).where('state', '=', 'open').execute();
  const calls = active ? await tx.selectFrom('calls').select(['name', 'state']).where('turn_id', '=', active.id).execute() : [];
  const today = await tx
    .selectFrom('steps')
    .innerJoin('turns', 'turns.id', 'steps.turn_id')
    .select([
      sql<number>`coalesce(sum(steps.input_tokens + steps.output_tokens), 0)::int`.as('tokens'),
      sql<number>`coalesce(sum(steps.micro_usd), 0)::bigint`.as('usd'),
    ])
    .where('turns.thread_id', '=', threadId)
    .where('steps.created_at', '>=', sql<Date>`date_trunc('day', now() at time zone 'utc') at time zone 'utc'`)
    .executeTakeFirstOrThrow();
  const lines: string[] = [];
  if (active) {
    const seconds = Math.round((Date.now() - (active.started_at ?? active.created_at).getTime()) / 1000);
    lines.push(`Working for ${seconds} s on: ${cut(active.input_summary, 120)}`);
    const done = calls.filter((call) => call.state === 'done').length;
    const running = calls.filter((call) => call.state === 'running').map((call) => call.name);
    if (calls.length > 0) lines.push(`Tool calls: ${done} done${running.length > 0 ? `, running now: ${running.join(', ')}` : ''}`);
  } else {
    lines.push('Nothing is running.');
  }
  for (const question of open) lines.push(`Waiting for your answer: ${cut(question.prompt, 200)}`);
  lines.push(`Today: ${today.tokens} tokens, $${(today.usd / 1_000_000).toFixed(4)}`);
  return lines.join('\n');
}
