import { sql } from 'kysely';
import type { LimitKind } from '../../contracts/task.ts';
import { limitWaitMs } from '../../domain/model/limits.ts';
import { DAY, MINUTE } from '../../domain/time.ts';
import type { Db, Tx } from '../postgres/database.ts';

/** Limits of models, shared by all chats and coding tasks. Times are the database's: hosts and their clocks differ. */

/** What a limit belongs to. `account`: an endpoint with its key, or `login:<agent>`. */
export interface Limited {
  account: string;
  model: string;
}

/** Agents name models as they like. */
const MODEL_CHARS = 200;
export const limitedAt = (account: string, model: string): Limited => ({ account, model: model.slice(0, MODEL_CHARS) });

export interface KnownLimit {
  kind: LimitKind;
  /** ms; negative when its time is over and nobody has asked since */
  opensInMs: number;
  /** the endpoint said when */
  named: boolean;
}

/** A limit that nobody has asked about for this long says nothing any more. */
const FORGOTTEN_MS = DAY;

/**
 * While a limit lasts, one of those who begin asks this often whether it opened early: a person may have bought more.
 */
const PROBE_MS = 15 * MINUTE;

const inMs = (ms: number) => sql<Date>`now() + ${Math.ceil(ms)} * interval '1 millisecond'`;
export const msUntil = (column: 'until' | 'limited_until') =>
  sql<number>`(extract(epoch from ${sql.ref(column)} - now()) * 1000)::float8`;

export async function limitOf(db: Db | Tx, { account, model }: Limited): Promise<KnownLimit | null> {
  const row = await db
    .selectFrom('model_limits')
    .select(['kind', 'named', msUntil('until').as('opensInMs')])
    .where('account', '=', account)
    .where('model', '=', model)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * True for one caller, once the time of a limit is over: it may ask the endpoint. The others wait `forMs` for what it
 * learns.
 */
export async function mayTryLimit(db: Db, { account, model }: Limited, forMs: number): Promise<boolean> {
  const row = await db
    .updateTable('model_limits')
    .set({ trying_until: inMs(forMs) })
    .where('account', '=', account)
    .where('model', '=', model)
    .where('until', '<=', sql<Date>`now()`)
    .where((e) => e.or([e('trying_until', 'is', null), e('trying_until', '<', sql<Date>`now()`)]))
    .returning('account')
    .executeTakeFirst();
  return row !== undefined;
}

/** True for one caller, now and then: it may ask although the time of the limit is not over. */
export async function mayProbeLimit(db: Db, { account, model }: Limited): Promise<boolean> {
  const row = await db
    .updateTable('model_limits')
    .set({ trying_until: sql<Date>`least(until, ${inMs(PROBE_MS)})` })
    .where('account', '=', account)
    .where('model', '=', model)
    .where('trying_until', '<', sql<Date>`now()`)
    .returning('account')
    .executeTakeFirst();
  return row !== undefined;
}

/** A refusal. `namedMs`: in how many ms the endpoint may be asked again, when it said so. */
export interface Refused {
  kind: LimitKind;
  namedMs: number | null;
}

/** Records that the endpoint refused. When several limits are full, the one that opens last counts. */
export async function noteLimit(db: Db, { account, model }: Limited, refused: Refused): Promise<KnownLimit> {
  return await db.transaction().execute(async (tx) => {
    const known = await tx
      .selectFrom('model_limits')
      .select(['waits', msUntil('until').as('opensInMs')])
      .where('account', '=', account)
      .where('model', '=', model)
      .forUpdate()
      .executeTakeFirst();
    const waits = known ? known.waits + Number(known.opensInMs <= 0) : 0;
    const waitMs = Math.max(limitWaitMs(refused.kind, refused.namedMs, waits), known?.opensInMs ?? 0);
    const limit = { kind: refused.kind, named: refused.namedMs !== null };
    const now = { ...limit, until: inMs(waitMs), waits, trying_until: inMs(Math.min(waitMs, PROBE_MS)) };
    await tx
      .insertInto('model_limits')
      .values({ account, model, ...now })
      .onConflict((c) => c.columns(['account', 'model']).doUpdateSet(now))
      .execute();
    // names that nobody uses any more
    await tx.deleteFrom('model_limits').where('until', '<', inMs(-FORGOTTEN_MS)).execute();
    return { ...limit, opensInMs: waitMs };
  });
}

/** The endpoint answered. */
export async function forgetLimit(db: Db, { account, model }: Limited): Promise<void> {
  await db.deleteFrom('model_limits').where('account', '=', account).where('model', '=', model).execute();
}

/** A person wants the endpoints to be asked now. */
export async function openLimits(tx: Tx): Promise<void> {
  await tx
    .updateTable('model_limits')
    .set({ until: sql<Date>`now()`, trying_until: null })
    .where('until', '>', sql<Date>`now()`)
    .execute();
}

/** Records that a task was refused while it works; null when it got an answer. */
export async function noteRefusal(db: Db, taskId: string, limit: KnownLimit | null): Promise<void> {
  const said = limit
    ? {
        limited_until: inMs(limit.opensInMs),
        limited_at: sql<Date>`coalesce(limited_at, now())`,
        limited_kind: limit.kind,
        limited_named: limit.named,
      }
    : { limited_until: null, limited_at: null };
  await db.updateTable('tasks').set(said).where('id', '=', taskId).where('state', '=', 'running').execute();
}

/** The last refusal of a task that has had no answer since. `agoMs`: since when it is refused. */
export async function refusalOf(db: Db, taskId: string): Promise<(KnownLimit & { agoMs: number }) | null> {
  const row = await db
    .selectFrom('tasks')
    .select(['limited_kind', 'limited_named', msUntil('limited_until').as('opensInMs')])
    .select(sql<number>`(extract(epoch from now() - limited_at) * 1000)::float8`.as('agoMs'))
    .where('id', '=', taskId)
    .where('limited_until', 'is not', null)
    .executeTakeFirst();
  return row
    ? {
        kind: row.limited_kind ?? 'limit',
        named: row.limited_named ?? false,
        opensInMs: row.opensInMs,
        agoMs: row.agoMs,
      }
    : null;
}
