import { type Selectable, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Arrival } from '../../contracts/conversation.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { Db } from '../postgres/database.ts';
import type { OutboxTable } from '../schema/tables/chats.ts';
import type { Routine } from './routines.ts';
import type { RoutineRun } from './runs.ts';

/** What workflows should hold, by the database, in pages: each continues after the key of the last row before. */

const before = (ageMs: number): Date => new Date(Date.now() - ageMs);

/** A turn in progress, its conversation, and the rows that the conversation was signalled for it, oldest first. */
export interface OpenTurn {
  threadId: string;
  turnId: string;
  workflowId: string;
  arrivals: Array<{ inboxId: string; kind: Arrival['kind']; resignalled: number /** RFC 3339 */; signalledAt: string }>;
}

/** Turns whose conversation got its newest signal within `withinMs`, or had its newest one before that. */
type Signalled = { which: 'lately' | 'earlier'; withinMs: number };

/** Turns in progress that began at least `ageMs` ago, by thread. */
export const openTurns = (
  db: Db,
  { which, withinMs }: Signalled,
  ageMs: number,
  after: string,
  limit: number,
): Promise<OpenTurn[]> =>
  db
    .selectFrom('turns')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select(['turns.thread_id as threadId', 'turns.id as turnId', 'chats.workflow_id as workflowId'])
    .select((e) =>
      jsonArrayFrom(
        e
          .selectFrom('inbox')
          .select([
            'inbox.id as inboxId',
            sql<Arrival['kind']>`inbox.arrival->>'kind'`.as('kind'),
            'inbox.resignalled',
            sql<string>`inbox.signalled_at`.as('signalledAt'),
          ])
          .whereRef('inbox.turn_id', '=', 'turns.id')
          .where('inbox.signalled_at', 'is not', null)
          // the text of a steering message is in the store, where the next model step reads it
          .where(sql`inbox.arrival->>'kind'`, 'in', ['turn', 'answer', 'stop'])
          .orderBy('inbox.received_at')
          .orderBy('inbox.id'),
      ).as('arrivals'),
    )
    .where('turns.status', '=', 'in_progress')
    .where('turns.created_at', '<', before(ageMs))
    .where((e) => {
      const lately = e.exists(
        e
          .selectFrom('inbox')
          .select('inbox.id')
          .whereRef('inbox.turn_id', '=', 'turns.id')
          .where('signalled_at', '>', before(withinMs)),
      );
      return which === 'lately' ? lately : e.not(lately);
    })
    .where('turns.thread_id', '>', after)
    .orderBy('turns.thread_id')
    .limit(limit)
    .execute();

export interface QueuedSend extends Pick<Selectable<OutboxTable>, 'id' | 'kind' | 'turn_id'> {
  /** the coding task that asks it */
  taskId: string | null;
}
export interface ChatWithSends {
  chatId: string;
  channel: Channel;
  workflowId: string;
  sends: QueuedSend[];
}

/** Most messages of one chat in a round; the others follow later. */
const SENDS_OF_CHAT = 100;

/** It does not wait for the end of quiet hours. */
const isDue = sql<boolean>`(outbox.not_before is null or outbox.not_before <= now())`;

/** Chats with messages that should have been sent at least `ageMs` ago, by id; the messages in their order. */
export const chatsWithSends = (db: Db, ageMs: number, after: string, limit: number): Promise<ChatWithSends[]> =>
  db
    .selectFrom('chats')
    .select(['chats.id as chatId', 'chats.channel', 'chats.workflow_id as workflowId'])
    .select((e) =>
      jsonArrayFrom(
        e
          .selectFrom('outbox')
          .select(['outbox.id', 'outbox.kind', 'outbox.turn_id'])
          .select((q) =>
            q
              .selectFrom('questions')
              .select('questions.task_id')
              .whereRef('questions.turn_id', '=', 'outbox.turn_id')
              .where('questions.task_id', 'is not', null)
              .limit(1)
              .as('taskId'),
          )
          .whereRef('outbox.chat_id', '=', 'chats.id')
          .where('outbox.state', '=', 'queued')
          .where(isDue)
          .orderBy('outbox.ord')
          .limit(SENDS_OF_CHAT),
      ).as('sends'),
    )
    .where('chats.id', 'in', (e) =>
      e
        .selectFrom('outbox')
        .select('outbox.chat_id')
        .where('outbox.state', '=', 'queued')
        .where(isDue)
        .where('outbox.created_at', '<', before(ageMs))
        .where('outbox.chat_id', '>', after)
        .groupBy('outbox.chat_id')
        .orderBy('outbox.chat_id')
        .limit(limit),
    )
    .orderBy('chats.id')
    .execute();

/** A run that has not ended, and whether its routine still exists. */
export type OpenRun = Pick<RoutineRun, 'id' | 'routine_id' | 'routine_name' | 'chat_id' | 'cron_id' | 'workflow_id'> & {
  routine: Routine['id'] | null;
};

/** Runs that began at least `ageMs` ago and have not ended, by id. */
export const openRuns = (db: Db, ageMs: number, after: string, limit: number): Promise<OpenRun[]> =>
  db
    .selectFrom('routine_runs')
    .leftJoin('routines', 'routines.id', 'routine_runs.routine_id')
    .select([
      'routine_runs.id',
      'routine_id',
      'routine_name',
      'routine_runs.chat_id',
      'cron_id',
      'workflow_id',
      'routines.id as routine',
    ])
    .where('routine_runs.status', '=', 'running')
    .where('routine_runs.started_at', '<', before(ageMs))
    .where('routine_runs.id', '>', after)
    .orderBy('routine_runs.id')
    .limit(limit)
    .execute();
