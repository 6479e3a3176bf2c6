import { type Kysely, sql } from 'kysely';

/** Files and whole workspaces as a chat itself left them: what has another digest has something of others. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table own_content (
      chat_id text not null references chats on delete cascade,
      workspace text not null,
      path text not null,
      digest text not null,
      primary key (chat_id, workspace, path))`.execute(db);
}
