import { type Kysely, sql } from 'kysely';

/** What a chat spent on a day, so that a budget is checked without adding up its steps. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table spending (
      chat_id text not null references chats on delete cascade, day date not null, tokens bigint not null, micro_usd bigint not null,
      primary key (chat_id, day));
    insert into spending
      select threads.chat_id, (steps.created_at at time zone 'utc')::date, sum(steps.input_tokens + steps.output_tokens), sum(steps.micro_usd)
      from steps join turns on turns.id = steps.turn_id join threads on threads.id = turns.thread_id group by 1, 2;
  `.execute(db);
}
