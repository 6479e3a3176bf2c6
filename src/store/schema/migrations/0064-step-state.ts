import { type Kysely, sql } from 'kysely';

/**
 * What the provider of a step wants back with it. The type is `json`, because `jsonb` changes the order of keys and
 * refuses the escape of NUL, and the state must come back as it came. The release before writes null, which means that
 * a step has none.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table transcript add column step_state json`.execute(db);
}
