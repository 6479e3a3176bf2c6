import { type Kysely, sql } from 'kysely';

/** Copies of threads, which know what they were made from, and turns that only sum up what was said. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table threads add column forked_from text;
    alter table turns add column compaction boolean not null default false;
    alter table calls add column copied_from text;
    alter table transcript add column copied_from text;
    alter table attachments add column copied_from text;
    create index calls_copied on calls (copied_from) where copied_from is not null;
    create index transcript_copied on transcript (copied_from) where copied_from is not null;
    create index attachments_copied on attachments (copied_from) where copied_from is not null;
  `.execute(db);
}
