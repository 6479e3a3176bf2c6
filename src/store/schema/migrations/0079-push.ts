import { type Kysely, sql } from 'kysely';

/** Notices for browsers and ntfy: who gets them, and what was sent. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table push_devices (
      id text primary key, endpoint text not null, keys jsonb, kinds text[] not null, quiet text, time_zone text not null,
      origin text, problem text, created_at timestamptz not null default now())`.execute(db);
  await sql`
    create table push_sends (
      key text not null, device_id text not null references push_devices (id) on delete cascade, kind text not null,
      thread_id text, body text not null, due_at timestamptz not null default now(), attempts int not null default 0,
      sent_at timestamptz, closed_at timestamptz, created_at timestamptz not null default now(), primary key (key, device_id))`.execute(
    db,
  );
  await sql`create index push_sends_due on push_sends (due_at) where closed_at is null`.execute(db);
  await sql`create index routine_runs_ended on routine_runs (ended_at) where ended_at is not null`.execute(db);
}
