import { type Kysely, sql } from 'kysely';

/** Log-ins of a chat's browser that outlast it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table browser_logins (
      chat_id text not null references chats on delete cascade, name text not null, hosts jsonb not null, sealed bytea not null,
      saved_at timestamptz not null default now(), primary key (chat_id, name));
  `.execute(db);
}
