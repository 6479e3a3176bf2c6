import { type Kysely, sql } from 'kysely';

/**
 * Who the commits are by: the name that git has on a host, and what a person said. `person`: `owner`, or the id of
 * somebody else's chat.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table kennel_hosts add column git_name text, add column git_email text;
    create table signatures (person text primary key, name text, email text, asked_by text);
  `.execute(db);
}
