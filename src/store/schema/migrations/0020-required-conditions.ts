import { type Kysely, sql } from 'kysely';

/**
 * Ends a transaction with a code of its own when something is not as it was read. Statements of a pipelined transaction
 * are on their way before the answer to this one: after an error none of them is stored.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function require_unchanged(unchanged boolean) returns void language plpgsql as $$
    begin
      if unchanged is not true then
        raise exception 'what was read before has changed' using errcode = 'TX001';
      end if;
    end
    $$
  `.execute(db);
}
