import { type Kysely, sql } from 'kysely';

/**
 * The tool call that a turn consists of, where a program named it. The release before runs such a turn with the model,
 * which reads the call in its message.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table turns add column call jsonb`.execute(db);
}
