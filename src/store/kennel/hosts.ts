import { type Selectable, sql } from 'kysely';
import type { Author } from '../../contracts/workspace-ops.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { KennelHostTable } from '../schema/tables/kennel.ts';

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

/**
 * Which process serves a kennel host's name, and until when: one process of one home at a time. Times are the
 * database's.
 */
export interface HostClaim {
  host: string;
  /** id of the home with the host's containers and run folders; a restart keeps it */
  identity: string;
  /** the process */
  holder: string;
  ttlMs: number;
}

/**
 * Takes or renews the lease of a host's name. False while another process has it, or another home has unfinished tasks
 * under this name. `dead`: a holder that is known to be gone.
 */
export async function holdHost(
  db: Db,
  { host, identity, holder, ttlMs }: HostClaim,
  dead: string | null = null,
): Promise<boolean> {
  const { rows } = await sql`
    insert into kennel_hosts as own (host, slots, ready, identity, holder, lease_until, seen_at)
    values (${host}, 0, false, ${identity}, ${holder}, now() + ${ttlMs} * interval '1 millisecond', now())
    on conflict (host) do update set identity = excluded.identity, holder = excluded.holder, lease_until = excluded.lease_until, seen_at = excluded.seen_at
    where own.holder = excluded.holder or (
      (own.holder is null or own.lease_until < now() or own.holder = ${dead}::text)
      and (own.identity is null or own.identity = excluded.identity
        or not exists (select 1 from tasks where tasks.host = own.host and tasks.ended_at is null)))
    returning own.host`.execute(db);
  return rows.length > 0;
}

/** Gives the lease back, so that the next process need not wait until it ends. */
export async function releaseHost(db: Db, { host, holder }: Pick<HostClaim, 'host' | 'holder'>): Promise<void> {
  await db
    .updateTable('kennel_hosts')
    .set({ holder: null, lease_until: null })
    .where('host', '=', host)
    .where('holder', '=', holder)
    .execute();
}

interface HostHolder {
  identity: string | null;
  holder: string | null;
  /** the lease has not ended */
  live: boolean;
}

export const hostHolder = (db: Db, host: string): Promise<HostHolder | undefined> =>
  db
    .selectFrom('kennel_hosts')
    .select(['identity', 'holder', sql<boolean>`coalesce(lease_until > now(), false)`.as('live')])
    .where('host', '=', host)
    .executeTakeFirst();
