import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Channel } from '../../../contracts/ids.ts';
import type { Profile } from '../../../contracts/workspace-ops.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import type { TaskTable, WorkspaceTable } from '../../schema/tables/kennel.ts';
import { forgetProfile } from './project-profiles.ts';

/** Workspaces as hosts last saw them. `seen_at` is when the profile was taken. */
export type WorkspaceRow = Selectable<WorkspaceTable>;

/**
 * Stores what a host found in its folder: adds new workspaces and removes missing ones. Profiles and a chat's active
 * workspace stay, because a disk that is away for a while must not change them.
 */
export async function recordWorkspaces(
  db: Db,
  host: string,
  found: ReadonlyArray<{ name: string; path: string; identity?: string }>,
): Promise<void> {
  const names = found.map((each) => each.name);
  await db.transaction().execute(async (tx) => {
    if (found.length > 0)
      await tx
        .insertInto('workspaces')
        .values(found.map(({ name, path, identity = null }) => ({ host, name, path, identity, seen_at: new Date(0) })))
        .onConflict((c) =>
          c
            .columns(['host', 'name'])
            .doUpdateSet((e) => ({ path: e.ref('excluded.path'), identity: e.ref('excluded.identity') })),
        )
        .execute();
    await tx
      .deleteFrom('workspaces')
      .where('host', '=', host)
      .where('name', '!=', sql<string>`all(${names})`)
      .execute();
  });
}

/** Of every host, by name. */
export const listWorkspaces = (db: Db | Tx): Promise<WorkspaceRow[]> =>
  db.selectFrom('workspaces').selectAll().orderBy('name').orderBy('host').execute();

export const workspacesOf = (db: Db, host: string): Promise<WorkspaceRow[]> =>
  db.selectFrom('workspaces').selectAll().where('host', '=', host).orderBy('name').execute();

/** Adds or updates a workspace, with its profile. */
export async function saveWorkspace(
  db: Db,
  workspace: { host: string; name: string; path: string; profile: Profile },
): Promise<void> {
  const said = { path: workspace.path, profile: json(workspace.profile), seen_at: new Date() };
  await db
    .insertInto('workspaces')
    .values({ host: workspace.host, name: workspace.name, ...said })
    .onConflict((c) => c.columns(['host', 'name']).doUpdateSet(said))
    .execute();
}

export type SeenWorkspace = Pick<Selectable<WorkspaceTable>, 'name' | 'path' | 'seen_at'>;

/** While somebody works in a workspace, its container is theirs. */
const QUIET_SECONDS = 60;

/** Workspaces of a host that conversations of the last day use, and nobody works in now. Longest unseen first. */
export async function dueLooks(db: Db, host: string): Promise<SeenWorkspace[]> {
  const { rows } = await sql<SeenWorkspace>`
    select name, path, seen_at from workspaces
    where host = ${host} and seen_at < now() - ${QUIET_SECONDS} * interval '1 second'
      and not exists (select from tasks where tasks.host = workspaces.host and tasks.workspace = workspaces.name and ended_at is null)
      and exists (select from threads join chats on chats.id = threads.chat_id where threads.updated_at > now() - interval '1 day'
        and case when chats.workspace is null then threads.workspace = workspaces.path
          else chats.workspace_host = workspaces.host and chats.workspace = workspaces.name end)
    order by seen_at`.execute(db);
  return rows;
}

/** Removes a workspace; chats in which it was active have none. */
export async function forgetWorkspace(db: Db, host: string, name: string): Promise<void> {
  await db.deleteFrom('workspaces').where('host', '=', host).where('name', '=', name).execute();
  await db
    .updateTable('chats')
    .set({ workspace: null, workspace_host: null })
    .where('workspace_host', '=', host)
    .where('workspace', '=', name)
    .execute();
  // another one of its name is another project
  await db
    .updateTable('action_kinds')
    .set({ allowed_at: null, in_a_row: 0 })
    .where('host', '=', host)
    .where('workspace', '=', name)
    .execute();
  await db
    .updateTable('egress_rules')
    .set({ revoked_at: new Date() })
    .where('kennel_host', '=', host)
    .where('workspace', '=', name)
    .execute();
  await forgetProfile(db, { host, workspace: name });
  // a later workspace of the same name is shared with nobody
  const other = await db.selectFrom('workspaces').select('host').where('name', '=', name).limit(1).executeTakeFirst();
  if (!other) await db.deleteFrom('workspace_shares').where('workspace', '=', name).execute();
}

/** The workspaces that a chat works in: the active one, and those of its latest tasks. */
export async function workspacesOfChat(db: Db | Tx, chatId: string): Promise<ActiveWorkspace[]> {
  const { rows } = await sql<ActiveWorkspace>`
    select workspace_host as host, workspace as name from chats where id = ${chatId} and workspace is not null
    union
    (select host, workspace from tasks where chat_id = ${chatId} order by created_at desc limit 50)
    order by name, host`.execute(db);
  return rows;
}

interface ActiveWorkspace {
  host: string;
  name: string;
}

export async function activeWorkspace(db: Db | Tx, chatId: string): Promise<ActiveWorkspace | null> {
  const chat = await db
    .selectFrom('chats')
    .select(['workspace', 'workspace_host'])
    .where('id', '=', chatId)
    .executeTakeFirst();
  return chat?.workspace && chat.workspace_host ? { name: chat.workspace, host: chat.workspace_host } : null;
}

/** Facts about a workspace at the last look. */
export const profileOfWorkspace = async (db: Db | Tx, { host, name }: ActiveWorkspace): Promise<Profile | null> =>
  (
    await db
      .selectFrom('workspaces')
      .select('profile')
      .where('host', '=', host)
      .where('name', '=', name)
      .executeTakeFirst()
  )?.profile ?? null;

/** The workspace in this folder, as it was seen last, by whichever host. */
export const workspaceAt = (db: Db, path: string): Promise<WorkspaceRow | undefined> =>
  db
    .selectFrom('workspaces')
    .selectAll()
    .where('path', '=', path)
    .orderBy('seen_at', 'desc')
    .limit(1)
    .executeTakeFirst();

/** The active workspace of the chat at this address. */
export const workspaceOfAddress = (db: Db, channel: Channel, address: string): Promise<WorkspaceRow | undefined> =>
  db
    .selectFrom('chats')
    .innerJoin('workspaces', (on) =>
      on.onRef('workspaces.host', '=', 'chats.workspace_host').onRef('workspaces.name', '=', 'chats.workspace'),
    )
    .selectAll('workspaces')
    .where('chats.channel', '=', channel)
    .where('chats.address', '=', address)
    .limit(1)
    .executeTakeFirst();

export async function selectWorkspace(db: Db | Tx, chatId: string, { host, name }: ActiveWorkspace): Promise<void> {
  await db.updateTable('chats').set({ workspace: name, workspace_host: host }).where('id', '=', chatId).execute();
}

/** Makes it active when no workspace is; true when it is active now. */
export async function selectIfNone(db: Db, chatId: string, { host, name }: ActiveWorkspace): Promise<boolean> {
  await db
    .updateTable('chats')
    .set({ workspace: name, workspace_host: host })
    .where('id', '=', chatId)
    .where('workspace', 'is', null)
    .execute();
  const active = await activeWorkspace(db, chatId);
  return active?.host === host && active.name === name;
}

/** Tasks of this workspace that are not over, oldest first. */
export const tasksIn = (
  db: Db | Tx,
  { host, name }: ActiveWorkspace,
): Promise<Array<Pick<TaskTable, 'id' | 'state'> & { worktree: boolean }>> =>
  db
    .selectFrom('tasks')
    .select(['id', 'state', 'worktree'])
    .where('host', '=', host)
    .where('workspace', '=', name)
    .where('ended_at', 'is', null)
    .orderBy('created_at')
    .execute();

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

/** The result of the undo of a turn; undefined before it has run. */
export const resultOfUndo = async (db: Db, turnId: string): Promise<{ ok: boolean; output: string } | undefined> => {
  const call = await db
    .selectFrom('calls')
    .select(['ok', 'output'])
    .where('turn_id', '=', turnId)
    .where('state', '=', 'done')
    .executeTakeFirst();
  return call && { ok: call.ok === true, output: call.output ?? '' };
};
