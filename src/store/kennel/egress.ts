import { sql } from 'kysely';
import { shownHost } from '../../domain/tasks/egress.ts';
import { onThread } from '../chats/thread-transaction.ts';
import type { Db, Tx } from '../postgres/database.ts';

/** How often a container of a task asked for a refused host. */
export interface Refused {
  /** lower case; hosts after a task's hundredth are counted under `(others)`, port 0 */
  host: string;
  port: number;
  refused: number;
}

/** Traffic with a host, in bytes. */
export interface Reached {
  host: string;
  port: number;
  connections: number;
  sent: number;
  received: number;
}

/**
 * Adds refusals of a task; each host and port may be named once. Its thread is told the first time that a host is
 * refused. Throws when the task does not exist.
 */
export async function addRefusals(db: Db, taskId: string, refusals: readonly Refused[]): Promise<void> {
  if (!refusals.length) return;
  const add = async (tx: Db | Tx): Promise<void> => {
    await tx
      .insertInto('task_egress')
      .values(refusals.map((one) => ({ task_id: taskId, ...one })))
      .onConflict((c) =>
        c.columns(['task_id', 'host', 'port']).doUpdateSet({
          refused: sql`task_egress.refused + excluded.refused`,
          last_at: sql`now()`,
        }),
      )
      .execute();
  };
  const before = new Set((await refusalsOf(db, taskId, 10_000)).map(keyOf));
  const first = refusals.filter((one) => !before.has(keyOf(one)) && one.port !== 0);
  if (first.length === 0) return await add(db);
  const task = await db
    .selectFrom('tasks')
    .select(['thread_id', 'turn_id', 'call_id'])
    .where('id', '=', taskId)
    .executeTakeFirstOrThrow();
  await onThread(db, task.thread_id, async (tx) => {
    await add(tx.now);
    for (const host of first) {
      const payload = { tool_id: task.call_id, tool_name: 'task_create', reason: `${shownHost(host)} was refused` };
      tx.append({ event: 'sandbox.denied', turnId: task.turn_id, payload });
    }
  });
}

const keyOf = ({ host, port }: Pick<Refused, 'host' | 'port'>): string => `${host}:${port}`;

/**
 * Adds traffic of a task in one statement; each host and port may be named once. Throws when the task does not exist.
 */
export async function addTraffic(db: Db | Tx, taskId: string, traffic: readonly Reached[]): Promise<void> {
  if (!traffic.length) return;
  await db
    .insertInto('task_egress')
    .values(traffic.map((one) => ({ task_id: taskId, ...one })))
    .onConflict((c) =>
      c.columns(['task_id', 'host', 'port']).doUpdateSet({
        connections: sql`task_egress.connections + excluded.connections`,
        sent: sql`task_egress.sent + excluded.sent`,
        received: sql`task_egress.received + excluded.received`,
        last_at: sql`now()`,
      }),
    )
    .execute();
}

/** Refused hosts of a task, the most requested first. */
export const refusalsOf = (db: Db | Tx, taskId: string, limit = 200): Promise<Refused[]> =>
  db
    .selectFrom('task_egress')
    .select(['host', 'port', 'refused'])
    .where('task_id', '=', taskId)
    .where('refused', '>', 0)
    .orderBy('refused', 'desc')
    .orderBy('host')
    .orderBy('port')
    .limit(limit)
    .execute();

/** Hosts that a task reached, those with the most bytes out first. */
export const reachedBy = (db: Db | Tx, taskId: string, limit = 200): Promise<Reached[]> =>
  db
    .selectFrom('task_egress')
    .select(['host', 'port', 'connections', 'sent', 'received'])
    .where('task_id', '=', taskId)
    .where('connections', '>', 0)
    .orderBy('sent', 'desc')
    .orderBy('host')
    .orderBy('port')
    .limit(limit)
    .execute();

/** Hosts that tasks of a workspace were refused in the last month, the most requested first. */
export const refusalsIn = (db: Db | Tx, kennelHost: string, workspace: string, limit: number): Promise<Refused[]> =>
  db
    .selectFrom('task_egress')
    .innerJoin('tasks', 'tasks.id', 'task_egress.task_id')
    .select(['task_egress.host', 'port', sql<number>`sum(refused)::int`.as('refused')])
    .where('tasks.host', '=', kennelHost)
    .where('tasks.workspace', '=', workspace)
    .where('refused', '>', 0)
    .where('task_egress.last_at', '>', sql<Date>`now() - interval '30 days'`)
    .groupBy(['task_egress.host', 'port'])
    .orderBy('refused', 'desc')
    .orderBy('task_egress.host')
    .limit(limit)
    .execute();
