import { type Selectable, sql } from 'kysely';
import { shipmentWorkflowId } from '../../../contracts/ids.ts';
import type { Look, ShipmentState } from '../../../contracts/shipment.ts';
import type { Check } from '../../../domain/shipping/checks.ts';
import type { WaitsFor } from '../../../domain/shipping/next.ts';
import type { ShipmentNames } from '../../../domain/shipping/texts.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import type { ShipmentTable } from '../../schema/tables/kennel.ts';
import type { Task } from '../tasks/tasks.ts';

/** Pull requests that are watched to their end. */

export type Shipment = Selectable<ShipmentTable>;

/** The branch of a shipment in its workspace. It is its own, so that files of the owner are never touched. */
export const ownBranch = ({ id }: Pick<Shipment, 'id'>): string => `fetch/${id}`;
/** Where commits are prepared that an agent has to solve a conflict in. */
export const conflictBranch = ({ id }: Pick<Shipment, 'id'>): string => `fetch/${id}-conflict`;

export const namesOf = ({ number, title, workspace, url }: Shipment): ShipmentNames => ({
  name: number === null ? workspace : `#${number} "${inline(title, 80)}"`,
  url,
});

type NewShipment = Pick<
  Shipment,
  | 'id'
  | 'chat_id'
  | 'call_id'
  | 'host'
  | 'workspace'
  | 'repository'
  | 'clone_url'
  | 'branch'
  | 'base'
  | 'commit'
  | 'title'
  | 'body'
  | 'rule'
>;

/**
 * The row of a new shipment; a second call with the same call id finds the first one's. Null where another one of this
 * branch is open.
 */
export async function insertShipment(db: Db, shipment: NewShipment): Promise<Shipment | null> {
  await db
    .insertInto('shipments')
    .values({
      ...shipment,
      workflow_id: shipmentWorkflowId(shipment.id),
      number: null,
      url: null,
      head: null,
      state: 'opening',
      reason: null,
      ended_at: null,
    })
    .onConflict((c) => c.doNothing())
    .execute();
  return (
    (await db.selectFrom('shipments').selectAll().where('call_id', '=', shipment.call_id).executeTakeFirst()) ?? null
  );
}

export const findShipment = (db: Db | Tx, id: string): Promise<Shipment | undefined> =>
  db.selectFrom('shipments').selectAll().where('id', '=', id).executeTakeFirst();

/** Those of a chat that are not over, the newest first; of one workspace where it is named. */
export async function openShipments(db: Db | Tx, chatId: string, workspace?: string): Promise<Shipment[]> {
  let query = db.selectFrom('shipments').selectAll().where('chat_id', '=', chatId).where('ended_at', 'is', null);
  if (workspace !== undefined) query = query.where('workspace', '=', workspace);
  return await query.orderBy('created_at', 'desc').execute();
}

/** Those of all chats that are not over, the newest first. */
export const watchedShipments = (db: Db, limit: number): Promise<Shipment[]> =>
  db
    .selectFrom('shipments')
    .selectAll()
    .where('ended_at', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute();

/** Shipments that should have a workflow: not over, and created at least `ageMs` ago. By id, starting after `after`. */
export const settledShipments = (db: Db, ageMs: number, after: string, limit: number): Promise<Shipment[]> =>
  db
    .selectFrom('shipments')
    .selectAll()
    .where('ended_at', 'is', null)
    .where('created_at', '<', new Date(Date.now() - ageMs))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();

export async function setShipmentState(
  db: Db,
  id: string,
  { state, head, ended }: { state: ShipmentState; head?: string; ended?: string },
): Promise<void> {
  await db
    .updateTable('shipments')
    .set({
      state,
      ...(head !== undefined && { head }),
      ...(ended !== undefined && { reason: ended, ended_at: new Date() }),
    })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
}

/** The pull request that was made or found on the server. */
export async function setPull(db: Db, id: string, pull: { number: number; url: string; head: string }): Promise<void> {
  await db.updateTable('shipments').set(pull).where('id', '=', id).execute();
}

export async function setHead(db: Db, id: string, head: string): Promise<void> {
  await db.updateTable('shipments').set({ head, waits_for: null }).where('id', '=', id).execute();
}

export const setFailedChecks = (db: Db, id: string, failed: readonly Check[]): Promise<unknown> =>
  db
    .updateTable('shipments')
    .set({ failed_checks: json([...failed]) })
    .where('id', '=', id)
    .execute();

/** What the newest look has found. It is written only where it is another than before. */
export async function setWaits(db: Db, { id }: Pick<Shipment, 'id'>, waits: WaitsFor | null): Promise<void> {
  await db
    .updateTable('shipments')
    .set({ waits_for: waits })
    .where('id', '=', id)
    .where('waits_for', 'is distinct from', waits)
    .execute();
}

export async function markStopped(db: Db | Tx, id: string): Promise<void> {
  await db.updateTable('shipments').set({ stopped: true }).where('id', '=', id).where('ended_at', 'is', null).execute();
}

/** What somebody has written about a pull request. */
interface Remark {
  key: string;
  author: string;
  inside: boolean;
  body: string;
  place: string;
}

/** Rows of one statement: PostgreSQL takes 65,535 values. */
const MOST_ROWS = 2_000;

/** Stores remarks, and says how many nobody has worked on yet. */
export async function recordRemarks(
  db: Db,
  shipmentId: string,
  found: readonly Remark[],
): Promise<Pick<Look, 'remarks' | 'outside'>> {
  for (let at = 0; at < found.length; at += MOST_ROWS)
    await db
      .insertInto('shipment_remarks')
      .values(
        found.slice(at, at + MOST_ROWS).map(({ key, author, inside, body, place }) => ({
          shipment_id: shipmentId,
          key,
          author,
          inside,
          body,
          place,
          pass: null,
        })),
      )
      .onConflict((c) => c.doNothing())
      .execute();
  const { count, outside } = await db
    .selectFrom('shipment_remarks')
    .select(sql<number>`count(*)::int`.as('count'))
    .select(sql<boolean>`coalesce(bool_or(not inside), false)`.as('outside'))
    .where('shipment_id', '=', shipmentId)
    .where('pass', 'is', null)
    .where('done', '=', false)
    .executeTakeFirstOrThrow();
  return { remarks: count, outside };
}

/** Remarks that one pass works on; the others are for the next. */
const MOST_OF_PASS = 50;

/** Takes the oldest remarks that nobody works on for a pass. A second call returns the same. */
export async function remarksForPass(db: Db, shipmentId: string, pass: number): Promise<Remark[]> {
  await db
    .updateTable('shipment_remarks')
    .set({ pass })
    .where('shipment_id', '=', shipmentId)
    .where('key', 'in', (e) =>
      e
        .selectFrom('shipment_remarks')
        .select('key')
        .where('shipment_id', '=', shipmentId)
        .where('pass', 'is', null)
        .where('done', '=', false)
        .orderBy('seen_at')
        .orderBy('key')
        .limit(MOST_OF_PASS),
    )
    .where('pass', 'is', null)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('shipment_remarks as taken')
            .select('taken.key')
            .where('taken.shipment_id', '=', shipmentId)
            .where('taken.pass', '=', pass),
        ),
      ),
    )
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('tasks')
            .select('id')
            .where('call_id', '=', passCallId({ id: shipmentId }, pass)),
        ),
      ),
    )
    .execute();
  return await remarksOfPass(db, shipmentId, pass);
}

export const remarksOfPass = (db: Db, shipmentId: string, pass: number): Promise<Remark[]> =>
  db
    .selectFrom('shipment_remarks')
    .selectAll()
    .where('shipment_id', '=', shipmentId)
    .where('pass', '=', pass)
    .orderBy('seen_at')
    .orderBy('key')
    .execute();

/** Nothing comes of a pass, and another one works on its remarks. */
export async function releasePass(db: Db, shipmentId: string, pass: number): Promise<void> {
  await db
    .updateTable('shipment_remarks')
    .set({ pass: null })
    .where('shipment_id', '=', shipmentId)
    .where('pass', '=', pass)
    .where('done', '=', false)
    .execute();
  // those that it does not have are left as they are
  await settlePass(db, shipmentId, pass);
}

/** A pass is done with, and so are its remarks; 0: the remarks that no pass works on. */
export async function settlePass(db: Db, shipmentId: string, pass: number): Promise<void> {
  await db
    .updateTable('shipment_remarks')
    .set({ done: true })
    .where('shipment_id', '=', shipmentId)
    .where('pass', pass === 0 ? 'is' : '=', pass === 0 ? null : pass)
    .execute();
  await db
    .updateTable('shipments')
    .set((e) => ({ settled_pass: sql<number>`greatest(${e.ref('settled_pass')}, ${pass})` }))
    .where('id', '=', shipmentId)
    .execute();
}

/** The tasks of a shipment's passes. */
export const tasksOfShipment = (db: Db, shipmentId: string): Promise<Array<Pick<Task, 'id' | 'state'>>> =>
  db.selectFrom('tasks').select(['id', 'state']).where('shipment_id', '=', shipmentId).execute();

/** The id by which a repeated attempt finds the task of a pass. */
export const passCallId = ({ id }: Pick<Shipment, 'id'>, pass: number): string => `${id}/pass-${pass}`;

export const taskOfPass = (db: Db, shipment: Pick<Shipment, 'id'>, pass: number): Promise<Task | undefined> =>
  db.selectFrom('tasks').selectAll().where('call_id', '=', passCallId(shipment, pass)).executeTakeFirst();

/** The tasks of a chat in a workspace that changed its files, the newest first: why a pull request is made. */
export const workBehind = (
  db: Db,
  chatId: string,
  workspace: string,
  since: Date | null,
  limit: number,
): Promise<Task[]> =>
  db
    .selectFrom('tasks')
    .selectAll()
    .where('chat_id', '=', chatId)
    .where('workspace', '=', workspace)
    .where('state', '=', 'completed')
    .where('shipment_id', 'is', null)
    .where('worktree', '=', false)
    .where(sql<boolean>`(result->'changes'->>'commit') is not null`)
    .where('ended_at', '>', since ?? new Date(0))
    .orderBy('ended_at', 'desc')
    .limit(limit)
    .execute();

/** Whether an earlier shipment has left the branch on the server at this commit. */
export const wasPushedBefore = async (
  db: Db,
  { id, repository, branch }: Pick<Shipment, 'id' | 'repository' | 'branch'>,
  commit: string,
): Promise<boolean> =>
  (await db
    .selectFrom('shipments')
    .select('id')
    .where('repository', '=', repository)
    .where('branch', '=', branch)
    .where('head', '=', commit)
    .where('id', '<>', id)
    .executeTakeFirst()) !== undefined;

/** When the newest shipment of a workspace was made. */
export const lastShipped = async (db: Db, workspace: string): Promise<Date | null> =>
  (
    await db
      .selectFrom('shipments')
      .select('created_at')
      .where('workspace', '=', workspace)
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.created_at ?? null;

/** Money that the passes of a shipment have used, in millionths of a US dollar. */
export const spentBy = async (db: Db, shipmentId: string): Promise<number> =>
  (
    await db
      .selectFrom('task_usage')
      .innerJoin('tasks', 'tasks.id', 'task_usage.task_id')
      .select(sql<number>`coalesce(sum(task_usage.micro_usd), 0)::float8`.as('spent'))
      .where('tasks.shipment_id', '=', shipmentId)
      .executeTakeFirstOrThrow()
  ).spent;
