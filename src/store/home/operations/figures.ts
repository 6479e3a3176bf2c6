import { sql } from 'kysely';
import type { TaskState } from '../../../contracts/task.ts';
import type { Db } from '../../postgres/database.ts';

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
