import { sql } from 'kysely';
import type { TaskState } from '../../contracts/task.ts';
import type { Db } from '../postgres/database.ts';

/** Counts of what is open, for operators. Each is read from an index that has only the open rows. */
interface Figures {
  openQuestions: number;
  activeTurns: number;
  inbox: Waiting;
  outbox: Array<Waiting & { channel: string }>;
  tasks: Array<{ state: TaskState; count: number }>;
}
interface Waiting {
  count: number;
  /** of the oldest; 0 when none waits */
  seconds: number;
}

const ageOf = (column: string) => sql<number>`coalesce(extract(epoch from now() - min(${sql.ref(column)})), 0)::float8`;
const countAll = sql<number>`count(*)::int`;

export async function readFigures(db: Db): Promise<Figures> {
  const [questions, turns, inbox, outbox, tasks] = await Promise.all([
    db.selectFrom('questions').select(countAll.as('count')).where('state', '=', 'open').executeTakeFirstOrThrow(),
    db.selectFrom('turns').select(countAll.as('count')).where('status', '=', 'in_progress').executeTakeFirstOrThrow(),
    db
      .selectFrom('inbox')
      .select([countAll.as('count'), ageOf('received_at').as('seconds')])
      .where('signalled_at', 'is', null)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom('outbox')
      .innerJoin('chats', 'chats.id', 'outbox.chat_id')
      .select(['chats.channel', countAll.as('count'), ageOf('outbox.created_at').as('seconds')])
      .where('outbox.state', '=', 'queued')
      .where((e) => e.or([e('outbox.not_before', 'is', null), e('outbox.not_before', '<', sql<Date>`now()`)]))
      .groupBy('chats.channel')
      .execute(),
    db
      .selectFrom('tasks')
      .select(['state', countAll.as('count')])
      .where('ended_at', 'is', null)
      .groupBy('state')
      .execute(),
  ]);
  return { openQuestions: questions.count, activeTurns: turns.count, inbox, outbox, tasks };
}

/** Facts about a PostgreSQL server and its connections. */
export interface ServerFacts {
  version: string;
  /** of our database */
  bytes: number;
  /** of all databases */
  connections: number;
  maxConnections: number;
  /** names under which programs are connected with our database now */
  applications: string[];
}

export async function readServerFacts(db: Db): Promise<ServerFacts> {
  const [facts, applications] = await Promise.all([
    sql<Omit<ServerFacts, 'applications'>>`
      select current_setting('server_version') as version, pg_database_size(current_database())::float8 as bytes,
        (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
        current_setting('max_connections')::int as "maxConnections"`.execute(db),
    sql<{ name: string }>`
      select distinct application_name as name from pg_stat_activity where datname = current_database() and application_name like 'fetch-%'`.execute(
      db,
    ),
  ]);
  return { ...facts.rows[0]!, applications: applications.rows.map(({ name }) => name) };
}

/** The subject of an activity, as its input names it. */
export interface Traced {
  turnId?: string | undefined;
  outboxId?: string | undefined;
  taskId?: string | undefined;
}

/**
 * Where the trace goes on of the message that this work is for. Null where that was not traced, and for work that no
 * message began.
 */
export async function traceOf(db: Db, { turnId = '', outboxId = '', taskId = '' }: Traced): Promise<string | null> {
  if (!turnId && !outboxId && !taskId) return null;
  // each part finds its rows by an index
  const { rows } = await sql<{ trace_parent: string }>`
    select trace_parent, received_at from inbox
    where trace_parent is not null and turn_id = coalesce(
      nullif(${turnId}::text, ''),
      (select turn_id from outbox where id = ${outboxId}),
      (select turn_id from tasks where id = ${taskId})
    )
    union all
    -- a reply without the model has a turn that its row does not name
    select trace_parent, received_at from inbox
    where trace_parent is not null and arrival ->> 'kind' = 'reply' and arrival ->> 'outboxId' = ${outboxId}
    order by received_at limit 1`.execute(db);
  return rows[0]?.trace_parent ?? null;
}
