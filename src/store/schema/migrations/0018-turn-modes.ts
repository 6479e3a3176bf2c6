import { type Kysely, sql } from 'kysely';

/**
 * What a turn leaves open to tools, where it says so. Chats of people, who are asked before each command, may run
 * commands; API clients ask for it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table turns add column mode text, add column allow_shell boolean;
    update threads set allow_shell = true from chats where chats.id = threads.chat_id and chats.channel <> 'api';
  `.execute(db);
}
