import { type Kysely, sql } from 'kysely';

/** How much of a step's input came from the cache of the endpoint. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table steps add column cached_tokens bigint not null default 0`.execute(db);
}
