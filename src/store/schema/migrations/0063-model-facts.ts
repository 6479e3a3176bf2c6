import { type Kysely, sql } from 'kysely';

/** What the endpoints of models have shown of them, so that a process need not be refused again to know it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table model_facts (
      base_url text not null, model text not null, facts jsonb not null, learned_at timestamptz not null default now(),
      primary key (base_url, model))
  `.execute(db);
}
