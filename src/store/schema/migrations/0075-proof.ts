import { type Kysely, sql } from 'kysely';

/**
 * Runs of a project's tests, to compare later ones with; and receipts. A receipt has the hash of the one before it. Of
 * what it says, only all can be erased, when its chat is: then its hash goes on to hold the chain together.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table test_runs (
      workspace text not null,
      tree text not null,
      environment text not null,
      run jsonb not null,
      ran_at timestamptz not null default now(),
      primary key (workspace, tree, environment))`.execute(db);
  await sql`
    create table receipts (
      number bigint primary key,
      subject text not null unique,
      body text,
      digest text not null,
      previous text not null,
      hash text not null,
      signature text not null,
      key text not null,
      ended_at timestamptz not null);
    create index receipts_ended on receipts (ended_at);
    create index turns_ended on turns (ended_at) where ended_at is not null;
    create index tasks_ended on tasks (ended_at) where ended_at is not null;

    create function receipts_refuse() returns trigger language plpgsql as $$
    begin
      if tg_op = 'UPDATE' then
        if new.body is null and to_jsonb(new) - 'body' = to_jsonb(old) - 'body' then
          return new;
        end if;
      end if;
      raise exception 'Receipts are only appended to.';
    end $$;
    create trigger receipts_append_only before update or delete on receipts for each row execute function receipts_refuse();
    create trigger receipts_whole before truncate on receipts for each statement execute function receipts_refuse();`.execute(
    db,
  );
}
