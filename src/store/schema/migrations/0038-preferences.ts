import { type Kysely, sql } from 'kysely';

/** What a person prefers in a chat, and messages that wait for the end of quiet hours. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table chats add column preferences jsonb not null default '{}';
    alter table outbox add column unasked text;
    alter table outbox add column not_before timestamptz;
  `.execute(db);
}
