import { type Kysely, sql } from 'kysely';

/**
 * What was taken over from another installation, so that a second import changes nothing, and what was deleted since
 * does not come back.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table imports (kind text not null, key text not null, imported_at timestamptz not null default now(), primary key (kind, key));
  `.execute(db);
}
