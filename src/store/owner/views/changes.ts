import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Changes, for readers that follow everything. */

interface ThreadChange {
  thread_id: string;
  /** of its newest event */
  seq: number;
  /** names of its events since, each once */
  kinds: string[];
}

/** A transaction is over after this long, whatever it waits for (`TIME_LIMITS` of the database). */
const SETTLED_MS = 60_000;

/**
 * A place in the log of all threads from which a reader may go on. A transaction may commit a smaller `seq` than others
 * that are visible already, so everything of the last minute is still open.
 */
export async function settledSeq(db: Db): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select('seq')
    .where('at', '<', sql<Date>`now() - ${SETTLED_MS} * interval '1 millisecond'`)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/**
 * The newest events of these threads, each after its own `seq`. Within a thread the order of `seq` is that of commits.
 */
export async function changesOf(db: Db, threads: ReadonlyMap<string, number>): Promise<ThreadChange[]> {
  const { rows } = await sql<ThreadChange>`
    select wanted.id as thread_id, news.seq, news.kinds
    from unnest(${[...threads.keys()]}::text[], ${[...threads.values()]}::bigint[]) as wanted (id, since) cross join lateral
      (select max(seq) as seq, array_agg(distinct event) as kinds from events where thread_id = wanted.id and seq > wanted.since) as news
    where news.seq is not null`.execute(db);
  return rows;
}

/**
 * What happened in all threads after `since`, and what was not settled then. Null when that is more than `most` events,
 * or `since` is beyond the end: it belongs to another store, or to the time before a restore.
 */
export async function changesSince(
  db: Db,
  since: number,
  settled: number,
  most: number,
): Promise<ThreadChange[] | null> {
  const newest =
    (await db.selectFrom('events').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst())?.seq ?? 0;
  const from = Math.min(since, settled);
  if (since > newest || newest - from > most) return null;
  const { rows } = await sql<ThreadChange>`
    select thread_id, max(seq) as seq, array_agg(distinct event) as kinds from events where seq > ${from} group by thread_id order by 2`.execute(
    db,
  );
  return rows;
}

/** Digests of what has no events, by what the owner's page calls it. */
export interface Digests {
  tasks: string;
  schedules: string;
  whatsapp: string;
  workspaces: string;
  agents: string;
}

/**
 * Each reads only what is not over: live tasks, schedules, one row of an account, workspaces, hosts; and the latest run
 * of each schedule, because a short one begins and ends between two looks.
 */
export async function digests(db: Db): Promise<Digests> {
  const { rows } = await sql<Digests>`
    select
      (select md5(coalesce(string_agg(concat_ws('|', id, state, pausing, planning, step, last, limited_until), E'\n' order by id), ''))
        from tasks where ended_at is null) as tasks,
      (select md5(coalesce(string_agg(concat_ws('|', id, name, schedule, time_zone, enabled, last_fired, latest.run), E'\n' order by id), '')) from crons
          left join lateral (select id || status as run from routine_runs where cron_id = crons.id order by started_at desc limit 1) as latest on true)
        || (select md5(coalesce(string_agg(concat_ws('|', id, due_at), E'\n' order by id), '')) from reminders where state = 'waiting')
        || (select md5(coalesce(string_agg(id || jsonb_array_length(results), E'\n' order by id), '')) from routine_runs where status = 'running') as schedules,
      (select md5(coalesce(string_agg(concat_ws('|', account, state, wanted, request, qr, pairing_code, last_error, needs, jid, sends_paused_until,
        lease_until + interval '5 seconds' < now()), E'\n' order by account), '')) from wa_accounts) as whatsapp,
      (select md5(coalesce(string_agg(concat_ws('|', host, name, path, profile), E'\n' order by host, name), '')) from workspaces)
        || (select md5(coalesce(string_agg(id, E'\n' order by id), '')) from egress_rules where revoked_at is null)
        || (select md5(coalesce(string_agg(workspace || '|' || person, E'\n' order by workspace, person), '')) from workspace_shares) as workspaces,
      (select md5(coalesce(string_agg(concat_ws('|', host, slots, ready, problem, harnesses), E'\n' order by host), '')) from kennel_hosts) as agents`.execute(
    db,
  );
  return rows[0]!;
}
