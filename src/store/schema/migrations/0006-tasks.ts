import { type Kysely, sql } from 'kysely';

/** What the coding tasks of a chat used in a day, and whether a task was told to pause. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table task_spending (
      chat_id text not null references chats on delete cascade, day date not null, tokens bigint not null, micro_usd bigint not null,
      primary key (chat_id, day));
    alter table tasks add column pausing boolean not null default false;
  `.execute(db);
}
