import { type Kysely, sql } from 'kysely';

/** The part of a step's output that was its thoughts. Steps of earlier releases count none. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table steps add column reasoning_tokens bigint not null default 0`.execute(db);
}
