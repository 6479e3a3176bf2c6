import type { Db } from '../../postgres/database.ts';

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
