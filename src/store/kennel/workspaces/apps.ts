import { sql } from 'kysely';
import type { Channel } from '../../../contracts/ids.ts';
import type { Db, Tx } from '../../postgres/database.ts';

/**
 * Apps that are left running, as the calls that started them recorded them. The engine of their host decides whether
 * they run.
 */
interface RecordedApp {
  id: string;
  host: string;
  workspace: string;
  command: string;
  state: 'running' | 'exited';
  address: string | null;
}

/**
 * Marks apps of a host as ended, by the calls that started them. `running`: all that run there; `known`: those that ran
 * when it was last looked, if it was.
 */
export async function markEnded(
  db: Db,
  host: string,
  running: readonly string[],
  known: readonly string[] | null,
): Promise<void> {
  const ended = known?.filter((callId) => !running.includes(callId));
  if (ended?.length === 0) return;
  await db
    .updateTable('calls')
    .set({ metadata: sql<string>`jsonb_set(metadata, '{app,state}', '"exited"')` })
    // in the words of the index, which has only the apps that run
    .where(
      sql<boolean>`name = 'app_run' and metadata->'app'->>'state' = 'running' and metadata->'app'->>'host' = ${host}`,
    )
    .where('id', 'not in', running.length > 0 ? running : [''])
    .$if(ended !== undefined, (query) => query.where('id', 'in', ended!))
    .execute();
}

/** The chat of an app that was left running; undefined when it was stopped on purpose, or its end is known already. */
export const chatOfApp = (
  db: Db,
  callId: string,
): Promise<{ chatId: string; channel: Channel; workflowId: string } | undefined> =>
  db
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select(['chats.id as chatId', 'chats.channel', 'chats.workflow_id as workflowId'])
    .where('calls.id', '=', callId)
    .where(sql<boolean>`metadata->'app'->>'state' = 'running' and metadata->'app'->'stopped' is null`)
    .executeTakeFirst();

/** Notes that an app is stopped on purpose, before it is. */
export async function noteStop(db: Db, callId: string): Promise<void> {
  await db
    .updateTable('calls')
    .set({ metadata: sql<string>`jsonb_set(metadata, '{app,stopped}', 'true')` })
    .where('id', '=', callId)
    .where(sql<boolean>`metadata->'app'->>'state' = 'running'`)
    .execute();
}

/** Apps that a chat has left running. */
export async function runningAppsOf(db: Db | Tx, chatId: string): Promise<RecordedApp[]> {
  const { rows } = await sql<{ app: RecordedApp }>`
    select calls.metadata->'app' as app from calls join threads on threads.id = calls.thread_id
    where threads.chat_id = ${chatId} and calls.name = 'app_run' and calls.metadata->'app'->>'state' = 'running'
    order by calls.started_at`.execute(db);
  return rows.map(({ app }) => app);
}

/** Which of these calls a chat has made: an app belongs to the chat whose call started it. */
export async function callsOfChat(db: Db, chatId: string, callIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (callIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .select('calls.id')
    .where('threads.chat_id', '=', chatId)
    .where('calls.id', 'in', callIds)
    .execute();
  return new Set(rows.map(({ id }) => id));
}
