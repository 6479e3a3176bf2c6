import { type Kysely, sql } from 'kysely';

/** What is known of a project besides its files: commands of its person, its last check, and its flaky tests. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table project_profiles (
      host text not null,
      workspace text not null,
      said jsonb not null default '{}',
      checked jsonb,
      flaky jsonb not null default '[]',
      asked jsonb,
      wanted jsonb,
      primary key (host, workspace))`.execute(db);
}
