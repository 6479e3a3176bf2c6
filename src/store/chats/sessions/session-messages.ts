import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** The messages of a session: what was said since the conversation began, and what tools answered. */

/** Where the conversation of a thread began: an `ord` of the transcript. */
const begunOf = (threadId: RawBuilder<string>) =>
  sql<number>`(select coalesce(max(upto), 0) from summaries where thread_id = ${threadId} and body = '')`;

/**
 * The messages after an `ord`, and with each result of a tool its call. A call that has not ended is no message yet.
 */
const messagesAfter = (threadId: RawBuilder<string>, ord: RawBuilder<number>) => sql`
  with said as (select ord, role, content, call_ids, created_at from transcript where thread_id = ${threadId} and ord > ${ord})
  select ord, 0 as place, role, content, created_at as at, null as call from said where content <> ''
  union all
  select said.ord, made.place, 'tool', coalesce(calls.output, ''), coalesce(calls.ended_at, said.created_at),
      jsonb_build_object('id', calls.id, 'name', calls.name, 'input', calls.args, 'ok', coalesce(calls.ok, true))
    from said cross join lateral jsonb_array_elements_text(said.call_ids) with ordinality as made (id, place)
    join calls on calls.id = made.id and calls.state = 'done'`;

/** In order. */
export const messagesOf = (threadId: RawBuilder<string>) => messagesAfter(threadId, begunOf(threadId));

/** Counted again at each request, at most. */
const COUNTED_EACH_TIME = 50;

const THREAD = sql.ref<string>('wanted.thread_id');

/**
 * The number of messages of each thread. The part of a conversation that can no longer change is counted once and kept,
 * so that the number of messages makes no difference.
 */
export async function countMessages(db: Db, threadIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; kept: number; later: number }>`
    select wanted.thread_id as id, coalesce(counts.messages, 0) as kept,
      (select count(*) from (${messagesAfter(THREAD, sql`coalesce(counts.upto, wanted.begun)`)}) as message) as later
    from (${withBeginning(threadIds)}) as wanted
      left join session_counts as counts on counts.thread_id = wanted.thread_id and counts.begun = wanted.begun`.execute(
    db,
  );
  const many = rows.filter(({ later }) => Number(later) > COUNTED_EACH_TIME).map(({ id }) => id);
  if (many.length > 0) await keepCounts(db, many);
  return new Map(rows.map(({ id, kept, later }) => [id, Number(kept) + Number(later)]));
}

const withBeginning = (threadIds: readonly string[]) =>
  sql`select thread_id, ${begunOf(sql.ref('given.thread_id'))} as begun from unnest(${[...threadIds]}::text[]) as given (thread_id)`;

/**
 * Keeps the counts of threads in which no turn is at work and no call is open. In others, messages may still change.
 */
async function keepCounts(db: Db, threadIds: readonly string[]): Promise<void> {
  await sql`
    insert into session_counts (thread_id, begun, upto, messages)
    select wanted.thread_id, wanted.begun, (select coalesce(max(ord), 0) from transcript where thread_id = wanted.thread_id),
      (select count(*) from (${messagesOf(THREAD)}) as message)
    from (${withBeginning(threadIds)}) as wanted
    where not exists (select from turns where thread_id = wanted.thread_id and status = 'in_progress')
      and not exists (
        select from transcript cross join lateral jsonb_array_elements_text(transcript.call_ids) as made (id) join calls on calls.id = made.id
        where transcript.thread_id = wanted.thread_id and transcript.ord > wanted.begun and calls.state <> 'done')
    on conflict (thread_id) do update set begun = excluded.begun, upto = excluded.upto, messages = excluded.messages`.execute(
    db,
  );
}
