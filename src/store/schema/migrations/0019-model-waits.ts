import { type Kysely, sql } from 'kysely';

/**
 * What a turn waits for at its model, for `status`, and until when the person was told that it waits. How much of what
 * was spent counts at the dearest known price, because the right one was not known.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table model_waits (
      turn_id text not null references turns on delete cascade, kind text not null, what text not null, until timestamptz not null,
      told int not null default 0, told_until timestamptz,
      primary key (turn_id, kind));
    alter table spending add column unpriced bigint not null default 0;
    alter table task_spending add column unpriced bigint not null default 0;
    alter table task_usage add column unpriced bigint not null default 0;
  `.execute(db);
}
