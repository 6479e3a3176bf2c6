import { type Kysely, sql } from 'kysely';

/** The address of a registry, as its package manager named it: containers of later runs ask the host's cache for it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table egress_asks add column address text`.execute(db);
}
