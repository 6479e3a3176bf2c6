import { type Kysely, sql } from 'kysely';

/** After how long the messages of a chat disappear. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table wa_timers (
      account text not null,
      address text not null,
      seconds integer not null,
      since timestamptz not null,
      primary key (account, address))`.execute(db);
}
