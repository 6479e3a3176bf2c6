import { type Kysely, sql } from 'kysely';

/**
 * Whose words stand in what a model reads, what a person has allowed to be done after reading them, and what workflows
 * were made of.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table transcript add column sources jsonb not null default '[]', add column words text;
    alter table summaries add column sources jsonb;
    alter table calls add column sources jsonb, add column taint jsonb;
    alter table routines add column sources jsonb not null default '[]';
    -- links of pages are looked up for an address that nothing else explains
    create index calls_of_pages on calls (thread_id, started_at) where name = 'web_fetch';
    create table sink_grants (
      chat_id text not null references chats on delete cascade, sink text not null, question_id text,
      given_at timestamptz not null default now(), primary key (chat_id, sink));
    -- reports and results, which stood there as words of the assistant
    update transcript set sources = '[{"kind": "unknown", "label": "an earlier report"}]'
      from turns where turns.id = transcript.turn_id and turns.status = 'completed' and transcript.role = 'assistant'
        and not exists (select from steps where steps.turn_id = transcript.turn_id);
    -- who of a group wrote what was not noted
    update transcript set sources = '[{"kind": "member", "label": "a group"}]'
      from threads join chats on chats.id = threads.chat_id
      where threads.id = transcript.thread_id and transcript.role = 'user' and chats.channel = 'whatsapp' and chats.address like '%@g.us';
  `.execute(db);
}
