import { type Selectable, sql } from 'kysely';
import type { NoticeKind } from '../../contracts/owner-push.ts';
import type { Db } from '../postgres/database.ts';
import type { PushDatabase } from '../schema/tables/owner.ts';

/** Notices for phones. Each goes to each device that wants its kind, once. */

export type PushDeviceRow = Selectable<PushDatabase['push_devices']>;

export const pushDevices = (db: Db): Promise<PushDeviceRow[]> => db.selectFrom('push_devices').selectAll().execute();

export const pushDevice = (db: Db, id: string): Promise<PushDeviceRow | undefined> =>
  db.selectFrom('push_devices').selectAll().where('id', '=', id).executeTakeFirst();

type DeviceFields = Pick<PushDeviceRow, 'id' | 'endpoint' | 'keys' | 'kinds' | 'quiet' | 'time_zone' | 'origin'>;

export async function keepPushDevice(db: Db, { id, keys, ...fields }: DeviceFields): Promise<void> {
  const values = { ...fields, keys: keys === null ? null : JSON.stringify(keys), problem: null };
  await db
    .insertInto('push_devices')
    .values({ id, ...values })
    .onConflict((c) => c.column('id').doUpdateSet(values))
    .execute();
}

export const forgetPushDevice = (db: Db, id: string): Promise<unknown> =>
  db.deleteFrom('push_devices').where('id', '=', id).execute();

export const notePushProblem = (db: Db, id: string, problem: string | null): Promise<unknown> =>
  db
    .updateTable('push_devices')
    .set({ problem })
    .where('id', '=', id)
    .where(sql<boolean>`problem is distinct from ${problem}`)
    .execute();

/** Characters of what happened. */
const BODY_CHARS = 300;

/**
 * Notes what happened since each device came, and is not noted for it yet. What ended more than a day ago is no news.
 */
export async function noteNews(db: Db): Promise<void> {
  await sql`
    with news as (
      select 'question/' || id as key, case when kind = 'question' then 'questions' else 'approvals' end as kind, thread_id, prompt as body, asked_at as at
        from questions where state = 'open'
      union all
      select 'task/' || id, case when state = 'failed' then 'failures' else 'results' end, thread_id, concat_ws(': ', workspace, goal), ended_at
        from tasks where ended_at > now() - interval '1 day' and state in ('completed', 'failed')
      union all
      select 'turn/' || id, 'failures', thread_id, coalesce(error, input_summary), ended_at
        from turns where status = 'failed' and ended_at > now() - interval '1 day'
      union all
      select concat_ws('/', 'run', coalesce(cron_id, id), id), case when status = 'failed' then 'failures' else 'results' end, null, concat_ws(': ', routine_name, summary), ended_at
        from routine_runs where ended_at > now() - interval '1 day' and status in ('completed', 'failed'))
    insert into push_sends (key, device_id, kind, thread_id, body)
    select news.key, devices.id, news.kind, news.thread_id, left(news.body, ${BODY_CHARS})
      from news join push_devices as devices on news.kind = any(devices.kinds) and news.at > devices.created_at
    on conflict do nothing`.execute(db);
}

export interface DueNotice {
  key: string;
  device_id: string;
  kind: NoticeKind;
  thread_id: string | null;
  body: string;
  attempts: number;
  /** a question that has been answered, or withdrawn */
  over: boolean;
  /** it was sent, and is to disappear */
  sent: boolean;
}

/** Another process may take what this one has not settled after this long. */
const CLAIM = sql.lit('1 minute');

/** Takes what is to be sent or taken back now. Settle each: `settleNotice`, `putOffNotice`. */
export async function takeNotices(db: Db, limit: number): Promise<DueNotice[]> {
  const { rows } = await sql<DueNotice>`
    with due as (
      select key, device_id, sent_at is not null as sent,
        key like 'question/%' and not exists (select from questions where id = substr(sends.key, 10) and state = 'open') as over
      from push_sends as sends where closed_at is null and due_at <= now()
        and (sent_at is null or key like 'question/%' and not exists (select from questions where id = substr(sends.key, 10) and state = 'open'))
      order by due_at limit ${limit} for update skip locked)
    update push_sends as sends set due_at = now() + ${CLAIM}::interval, attempts = attempts + 1
    from due where sends.key = due.key and sends.device_id = due.device_id
    returning sends.key, sends.device_id, sends.kind, sends.thread_id, sends.body, sends.attempts, due.over, due.sent`.execute(
    db,
  );
  return rows;
}

type NoticeId = Pick<DueNotice, 'key' | 'device_id'>;

/** `closed`: nothing more happens to it. */
export const settleNotice = (db: Db, { key, device_id }: NoticeId, closed: boolean): Promise<unknown> =>
  db
    .updateTable('push_sends')
    .set({ attempts: 0, due_at: new Date(), ...(closed ? { closed_at: new Date() } : { sent_at: new Date() }) })
    .where('key', '=', key)
    .where('device_id', '=', device_id)
    .execute();

/** `failed`: the attempt counts. */
export const putOffNotice = (
  db: Db,
  { key, device_id, attempts }: NoticeId & Pick<DueNotice, 'attempts'>,
  { until, failed = false }: { until: Date; failed?: boolean },
): Promise<unknown> =>
  db
    .updateTable('push_sends')
    .set({ due_at: until, attempts: failed ? attempts : attempts - 1 })
    .where('key', '=', key)
    .where('device_id', '=', device_id)
    .execute();

/** What was settled weeks ago is forgotten. */
export const forgetOldNotices = (db: Db): Promise<unknown> =>
  db.deleteFrom('push_sends').where('created_at', '<', sql<Date>`now() - interval '30 days'`).execute();
