import { type Kysely, sql } from 'kysely';

/** Files of WhatsApp messages that are uploaded before their message is sent. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table wa_uploads (
      outbox_id text not null references outbox on delete cascade, file text not null, content bytea not null, primary key (outbox_id, file));
  `.execute(db);
}
