import { type Kysely, sql } from 'kysely';

/**
 * What a list of many threads shows of each. The last words: without the index, a long task would be read back to what
 * was said before it. The name of a person: without it, every contact would be read for every list.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index items_said on items (thread_id, ord) where kind in ('user_message', 'agent_message') and summary <> '';
    create index wa_contacts_chat on wa_contacts (chat_address);
  `.execute(db);
}
