import { type Kysely, sql } from 'kysely';

/**
 * What the status API counts: messages of each session, up to where they can no longer change, and messages since the
 * start. Files of a session are found to be deleted with it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table session_counts (
      thread_id text primary key references threads on delete cascade, begun bigint not null, upto bigint not null, messages bigint not null);
    create index inbox_received on inbox (received_at);
    create index attachments_thread on attachments (thread_id);
  `.execute(db);
}
