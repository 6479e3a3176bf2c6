import { type Kysely, sql } from 'kysely';

/** Which keys have encrypted payloads in Temporal. An older release does not read this. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table payload_keys (id text primary key, first_used_at timestamptz not null default now(), used_at timestamptz not null default now())
  `.execute(db);
}
