import { type Kysely, sql } from 'kysely';

/** Logins at MCP servers. What is secret is encrypted with a key that is not in the database. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table mcp_logins (
      server text primary key, url text not null, issuer text not null, sealed bytea not null, expires_at timestamptz,
      renewable boolean not null, refused text, logged_in_at timestamptz not null default now(), renewed_at timestamptz not null default now())
  `.execute(db);
}
