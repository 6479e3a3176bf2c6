import { type Selectable, sql } from 'kysely';
import type { Author } from '../../../contracts/workspace-ops.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import type { KennelHostTable } from '../../schema/tables/kennel.ts';

export type KennelHost = Selectable<KennelHostTable> & {
  alive: boolean;
  /** it was there recently with its containers, or is just starting, so waiting may help */
  expected: boolean;
};

/** A host that has not renewed its row for this long counts as gone. */
const HOST_GONE_MS = 30_000;

/** A host's regular report about itself; times are the database's. */
export async function reportHost(
  db: Db,
  host: Pick<KennelHostTable, 'host' | 'slots' | 'ready' | 'problem'> & {
    harnesses: KennelHost['harnesses'];
    git?: Author | null;
  },
): Promise<void> {
  const git = host.git === undefined ? {} : { git_name: host.git?.name ?? null, git_email: host.git?.email ?? null };
  const ready = host.ready ? { ready_at: sql<Date>`now()` } : {};
  const said = {
    slots: host.slots,
    ready: host.ready,
    problem: host.problem,
    harnesses: json(host.harnesses),
    seen_at: sql<Date>`now()`,
    ...ready,
    ...git,
  };
  await db
    .insertInto('kennel_hosts')
    .values({ host: host.host, ...said })
    .onConflict((c) => c.column('host').doUpdateSet(said))
    .execute();
}

/** How long a restart of a host or engine may take before nobody waits for it. */
const RESTART_SECONDS = 120;

/** All hosts ever seen, the latest first. */
export const listHosts = (db: Db | Tx): Promise<KennelHost[]> =>
  db
    .selectFrom('kennel_hosts')
    .selectAll()
    .select(sql<boolean>`seen_at > now() - ${HOST_GONE_MS} * interval '1 millisecond'`.as('alive'))
    .select(
      sql<boolean>`seen_at > now() - ${RESTART_SECONDS} * interval '1 second'
        and (problem is null or coalesce(ready_at > now() - ${RESTART_SECONDS} * interval '1 second', false))`.as(
        'expected',
      ),
    )
    .orderBy('seen_at', 'desc')
    .orderBy('host')
    .execute();

/**
 * The host where the kennel tools of a chat run: that of its active workspace. `elsewhere`: for tools that must work
 * while that host is away (listing, selecting), another live host is used. Null when no host is there; a call for a
 * host waits until it is back.
 */
export async function hostOfChat(db: Db, chatId: string, own: string, elsewhere: boolean): Promise<string | null> {
  const [chat, hosts] = await Promise.all([
    db.selectFrom('chats').select('workspace_host').where('id', '=', chatId).executeTakeFirst(),
    listHosts(db),
  ]);
  const alive = hosts.filter((host) => host.alive).map((host) => host.host);
  const active = chat?.workspace_host ?? null;
  if (active && (!elsewhere || alive.includes(active))) return active;
  return alive.includes(own) ? own : (alive[0] ?? null);
}

/**
 * Moves a task whose host was not seen for `goneSeconds` to another live host that sees the same folder (a shared
 * disk). A clone of the same name has other files and no checkpoint. Returns the task's host; null while that is
 * `from`.
 */
export async function moveTask(db: Db, taskId: string, from: string, goneSeconds: number): Promise<string | null> {
  const task = await db.selectFrom('tasks').select('host').where('id', '=', taskId).executeTakeFirst();
  // moved by an attempt whose answer was lost
  if (task && task.host !== from) return task.host;
  const { rows } = await sql<{ host: string }>`
    update tasks set host = other.host from kennel_hosts own, kennel_hosts other, workspaces mine, workspaces theirs
    where tasks.id = ${taskId} and tasks.ended_at is null and own.host = tasks.host and own.seen_at < now() - ${goneSeconds} * interval '1 second'
      and other.host <> own.host and other.ready and other.seen_at > now() - ${HOST_GONE_MS} * interval '1 millisecond'
      and mine.host = own.host and mine.name = tasks.workspace and theirs.host = other.host and theirs.name = tasks.workspace
      and theirs.identity = coalesce(tasks.workspace_identity, mine.identity)
    returning tasks.host`.execute(db);
  return rows[0]?.host ?? null;
}
