import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** States of workspaces that undo can go back to: before a coding task, and before a file that a tool changed. */

export interface Snapshot {
  /** what undo calls it: the id of the task, or the key of the edit */
  id: string;
  kind: 'task' | 'edit';
  workspace: string;
  /** whose chat it was made in */
  thread_id: string;
  /** the goal of the task, or the file */
  what: string;
  at: Date;
}

/** `which`: conditions, order and limit. The key of an edit is that of its checkpoint (`direct-edit.ts`). */
const tasks = (which: RawBuilder<unknown>) => sql<Snapshot>`
  select id, 'task' as kind, workspace, thread_id, goal as what, started_at as at from tasks
  where ended_at is not null and started_at is not null ${which}`;
const key = sql`'edit-' || left(encode(sha256(convert_to(id, 'UTF8')), 'hex'), 32)`;
const edits = (which: RawBuilder<unknown>) => sql<Snapshot>`
  select ${key} as id, 'edit' as kind, metadata->>'workspace' as workspace, thread_id, coalesce(args->>'path', name) as what, coalesce(started_at, ended_at) as at
  from calls where ok and name in ('file_write', 'file_edit', 'file_delete') and metadata ? 'workspace' ${which}`;

/** Newest first. */
export async function listSnapshots(db: Db, limit: number): Promise<Snapshot[]> {
  const found = await Promise.all([
    tasks(sql`order by created_at desc limit ${limit}`).execute(db),
    edits(sql`order by ended_at desc limit ${limit}`).execute(db),
  ]);
  return found
    .flatMap(({ rows }) => rows)
    .sort((a, b) => b.at.getTime() - a.at.getTime() || (a.id < b.id ? -1 : 1))
    .slice(0, limit);
}

/** Those of a thread since a moment, newest first. */
export async function snapshotsSince(db: Db, threadId: string, since: Date): Promise<Snapshot[]> {
  const found = await Promise.all([
    tasks(sql`and thread_id = ${threadId} and started_at >= ${since}`).execute(db),
    edits(sql`and thread_id = ${threadId} and ended_at >= ${since}`).execute(db),
  ]);
  return found.flatMap(({ rows }) => rows).sort((a, b) => b.at.getTime() - a.at.getTime());
}

export async function findSnapshot(db: Db, id: string): Promise<Snapshot | undefined> {
  const { rows } = await (id.startsWith('edit-') ? edits(sql`and ${key} = ${id}`) : tasks(sql`and id = ${id}`)).execute(
    db,
  );
  return rows[0];
}

/** What the undo of a turn came to; undefined before it has run. */
export const resultOfUndo = async (db: Db, turnId: string): Promise<{ ok: boolean; output: string } | undefined> => {
  const call = await db
    .selectFrom('calls')
    .select(['ok', 'output'])
    .where('turn_id', '=', turnId)
    .where('state', '=', 'done')
    .executeTakeFirst();
  return call && { ok: call.ok === true, output: call.output ?? '' };
};
