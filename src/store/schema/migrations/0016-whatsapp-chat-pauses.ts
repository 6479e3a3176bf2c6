import { type Kysely, sql } from 'kysely';

/** Chats that WhatsApp does not let us write to for a while. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table wa_chat_pauses (
      account text not null, jid text not null, until timestamptz not null, why text not null, primary key (account, jid));
  `.execute(db);
}
