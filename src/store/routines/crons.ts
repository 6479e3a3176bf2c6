import { type Selectable, sql } from 'kysely';
import type { BudgetFacts } from '../../domain/model/spending.ts';
import type { Given } from '../../domain/routine-inputs.ts';
import { type Db, json, nullIfTaken, type Tx } from '../postgres/database.ts';
import type { CronTable } from '../schema/tables/routines.ts';
import { budgetFacts } from '../turns/steps/spending.ts';

export type Cron = Selectable<CronTable>;

/** Null when the name is taken in this chat. A second call with the same id returns the stored row. */
export async function insertCron(
  db: Db,
  cron: {
    id: string;
    routineId: string;
    chatId: string;
    name: string;
    schedule: string;
    timeZone: string;
    enabled: boolean;
    given?: Given;
  },
): Promise<Cron | null> {
  await db
    .insertInto('crons')
    .values({
      id: cron.id,
      routine_id: cron.routineId,
      chat_id: cron.chatId,
      name: cron.name,
      schedule: cron.schedule,
      time_zone: cron.timeZone,
      enabled: cron.enabled,
      ...(cron.given && givenColumns(cron.given)),
    })
    .onConflict((c) => c.doNothing())
    .execute();
  return (await db.selectFrom('crons').selectAll().where('id', '=', cron.id).executeTakeFirst()) ?? null;
}

const givenColumns = ({ inputs, sources }: Given) => ({ inputs: json(inputs), sources: json(sources) });

interface CronChange {
  name: string;
  schedule: string;
  time_zone: string;
  /** as before when unset */
  given?: Given | undefined;
}

/** Null when the name is taken in this chat. Firings before this moment do not count as missed. */
export const changeCron = (db: Db, id: string, { given, ...change }: CronChange): Promise<Cron | null> =>
  db
    .updateTable('crons')
    .set({
      ...change,
      ...(given && givenColumns(given)),
      enabled_since: new Date(),
      unsent: true,
      updated_at: new Date(),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(nullIfTaken);

export const listCrons = (db: Db | Tx, chatId: string): Promise<Cron[]> =>
  db.selectFrom('crons').selectAll().where('chat_id', '=', chatId).orderBy('created_at').execute();

export const findCron = (db: Db, chatId: string, idOrName: string): Promise<Cron | undefined> =>
  db
    .selectFrom('crons')
    .selectAll()
    .where('chat_id', '=', chatId)
    .where((e) => e.or([e('id', '=', idOrName), e(sql`lower(name)`, '=', idOrName.toLowerCase())]))
    .executeTakeFirst();

/** Of any chat. */
export const findCronById = (db: Db, id: string): Promise<Cron | undefined> =>
  db.selectFrom('crons').selectAll().where('id', '=', id).executeTakeFirst();

/** Crons of every chat that are older than `ageMs`, whose schedules should exist. By id, starting after `after`. */
export const settledCrons = (db: Db, ageMs: number, after: string, limit: number): Promise<Cron[]> =>
  db
    .selectFrom('crons')
    .selectAll()
    .where('created_at', '<', new Date(Date.now() - ageMs))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();

export const cronsOf = (db: Db, routineId: string): Promise<Cron[]> =>
  db.selectFrom('crons').selectAll().where('routine_id', '=', routineId).execute();

/** The routine of a prompt goes with it. */
export async function deleteCron(db: Db, id: string): Promise<void> {
  const ofPrompt = db.selectFrom('crons').select('routine_id').where('id', '=', id);
  await db.deleteFrom('routines').where('id', 'in', ofPrompt).where('automation', '=', true).execute();
  await db.deleteFrom('crons').where('id', '=', id).execute();
}

/** Firings up to this moment ran, or do not count. */
export const lastSettled = ({ last_fired, enabled_since }: Pick<Cron, 'last_fired' | 'enabled_since'>): Date =>
  last_fired && last_fired > enabled_since ? last_fired : enabled_since;

/** A firing was left out on purpose: it does not count as missed. */
export const settleFiring = async (db: Db, id: string, at: Date): Promise<void> => {
  await db.updateTable('crons').set({ last_fired: at }).where('id', '=', id).execute();
};

/** The spend of a schedule, for its budgets, before a run begins. */
export async function budgetsOfCron(db: Db, { id, chat_id }: Cron, zone: string): Promise<BudgetFacts> {
  const facts = budgetFacts({
    of: sql`null::text`,
    account: sql`${chat_id}::text`,
    cron: sql`${id}::text`,
    level: 'schedule',
    own: sql`select 0 as tokens, 0 as micro_usd, 0 as unpriced`,
    zone,
  });
  const { rows } = await sql<{ facts: BudgetFacts }>`select ${facts} as facts`.execute(db);
  return rows[0]!.facts;
}

/**
 * The row first, so that a missing schedule is created again with the right state. `markSent` follows, when the
 * schedule has it.
 */
export const setCronEnabled = (db: Db, id: string, enabled: boolean): Promise<Cron> =>
  db
    .updateTable('crons')
    .set({ enabled, ...(enabled && { enabled_since: new Date() }), unsent: true, updated_at: new Date() })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** A date of JavaScript has no microseconds. */
const unchangedSince = (updatedAt: Date) => sql<boolean>`date_trunc('milliseconds', updated_at) = ${updatedAt}`;

/** Its schedule has the state of this row. A change that came meanwhile is still to be sent. */
export async function markSent(db: Db, { id, updated_at }: Pick<Cron, 'id' | 'updated_at'>): Promise<void> {
  await db.updateTable('crons').set({ unsent: false }).where('id', '=', id).where(unchangedSince(updated_at)).execute();
}

/** Somebody paused or unpaused the schedule itself. The row follows, unless it was changed since it was read. */
export const followSchedule = (
  db: Db,
  { id, updated_at }: Pick<Cron, 'id' | 'updated_at'>,
  enabled: boolean,
): Promise<Cron | undefined> =>
  db
    .updateTable('crons')
    .set({ enabled, ...(enabled && { enabled_since: new Date() }) })
    .where('id', '=', id)
    .where('unsent', '=', false)
    .where(unchangedSince(updated_at))
    .returningAll()
    .executeTakeFirst();
