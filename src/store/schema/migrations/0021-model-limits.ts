import { type Kysely, sql } from 'kysely';

/**
 * Limits of model endpoints and of log-ins, shared by all coding tasks that use them; and what a task waits for, or was
 * last refused by.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table model_limits (
      account text not null, model text not null, kind text not null, until timestamptz not null, named boolean not null,
      waits int not null default 0, trying_until timestamptz,
      primary key (account, model));
    alter table tasks add column limited_until timestamptz, add column limited_at timestamptz, add column limited_kind text, add column limited_named boolean;
  `.execute(db);
}
