import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Task } from '../tasks/tasks.ts';

/**
 * What a chat has written itself, before it had read text of others: a file, or a whole workspace as it was at the end
 * of an operation. Only content with the same digest is the chat's own.
 */

/** The path that stands for the whole workspace, with git's own files. */
export const WHOLE = '.';

interface Place {
  chatId: string;
  /** id of the workspace's folder */
  workspace: string;
}

/** Digests by path. */
export async function ownContent(db: Db, { chatId, workspace }: Place): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('own_content')
    .select(['path', 'digest'])
    .where('chat_id', '=', chatId)
    .where('workspace', '=', workspace)
    .execute();
  return new Map(rows.map(({ path, digest }) => [path, digest]));
}

export async function noteOwn(db: Db, { chatId, workspace }: Place, path: string, digest: string): Promise<void> {
  await db
    .insertInto('own_content')
    .values({ chat_id: chatId, workspace, path, digest })
    .onConflict((c) => c.columns(['chat_id', 'workspace', 'path']).doUpdateSet({ digest }))
    .execute();
}

/** The path under which a coding task notes that all it found at its beginning was its chat's own; no file has it. */
export const startOf = (taskId: string): string => `//${taskId}`;

export async function forgetOwn(db: Db, { chatId, workspace }: Place, path: string): Promise<void> {
  await db
    .deleteFrom('own_content')
    .where('chat_id', '=', chatId)
    .where('workspace', '=', workspace)
    .where('path', '=', path)
    .execute();
}

/** Something else than this chat's own calls works in the workspace: tasks that are at work there may read of it. */
export async function noteOthersAtWork(db: Db, workspace: string): Promise<void> {
  await db.deleteFrom('own_content').where('workspace', '=', workspace).where('path', 'like', '//%').execute();
}

/** Whether text of others can have come to a task: by its words, its questions, or the network. */
export async function hasHeardOthers(
  db: Db,
  task: Pick<Task, 'id' | 'call_id' | 'host' | 'workspace'>,
): Promise<boolean> {
  const { rows } = await sql<{ heard: boolean }>`
    select not exists (select from calls where id = ${task.call_id} and jsonb_array_length(coalesce(taint->'sources', '[]')) = 0)
      or exists (select from questions where task_id = ${task.id} and kind <> 'approval')
      or exists (select from task_egress where task_id = ${task.id} and connections > 0)
      or exists (select from egress_rules where kennel_host = ${task.host} and workspace = ${task.workspace} and allowed)
      or exists (select from task_log where task_id = ${task.id} and line->>'type' = 'tool'
        and (line->>'kind' = 'fetch' or line->>'title' ~* 'web|https?:|google')) as heard`.execute(db);
  return rows[0]!.heard;
}

/** Whether a coding task works in this workspace, or has since then. */
export async function workedSince(db: Db, at: { host: string; name: string }, since: Date): Promise<boolean> {
  const task = await db
    .selectFrom('tasks')
    .select('id')
    .where('host', '=', at.host)
    .where('workspace', '=', at.name)
    .where('started_at', 'is not', null)
    .where((e) => e.or([e('ended_at', 'is', null), e('ended_at', '>', since)]))
    .limit(1)
    .executeTakeFirst();
  return task !== undefined;
}

/** The chats that have left a file so in a workspace of this name before they had read text of others. */
export async function chatsThatWrote(db: Db, workspace: string, path: string, digest: string): Promise<string[]> {
  const rows = await db
    .selectFrom('own_content')
    .innerJoin('workspaces', 'workspaces.identity', 'own_content.workspace')
    .select('own_content.chat_id')
    .distinct()
    .where('workspaces.name', '=', workspace)
    .where('own_content.path', '=', path)
    .where('own_content.digest', '=', digest)
    .execute();
  return rows.map(({ chat_id }) => chat_id);
}
