import { type Kysely, sql } from 'kysely';

/** Runs of a project's tests, to compare later ones with. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table test_runs (
      workspace text not null,
      tree text not null,
      environment text not null,
      run jsonb not null,
      ran_at timestamptz not null default now(),
      primary key (workspace, tree, environment))`.execute(db);
}
