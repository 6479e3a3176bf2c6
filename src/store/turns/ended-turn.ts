import type { Db } from '../postgres/database.ts';

/** What a turn that is over took, for the log: figures and ids, none of its text. Null while it goes on, or when it is gone. */
export async function endedTurn(db: Db, turnId: string) {
  const row = await db
    .selectFrom('turns')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select(['turns.status', 'turns.thread_id', 'turns.started_at', 'turns.ended_at', 'turns.usage', 'turns.micro_usd', 'chats.channel'])
    .select((e) => [
      e.selectFrom('steps').select(e.fn.countAll<number>().as('count')).where('steps.turn_id', '=', turnId).as('steps'),
      e.selectFrom('calls').select(e.fn.countAll<number>().as('count')).where('calls.turn_id', '=', turnId).as('calls'),
    ])
    .where('turns.id', '=', turnId)
    .executeTakeFirst();
  if (!row?.ended_at) return null;
  return {
    status: row.status,
    channel: row.channel,
    thread: row.thread_id,
    turn: turnId,
    steps: Number(row.steps ?? 0),
    calls: Number(row.calls ?? 0),
    tokens: (row.usage?.input_tokens ?? 0) + (row.usage?.output_tokens ?? 0),
    usd: row.micro_usd / 1_000_000,
    seconds: Math.round((row.ended_at.getTime() - (row.started_at ?? row.ended_at).getTime()) / 100) / 10,
  };
}
