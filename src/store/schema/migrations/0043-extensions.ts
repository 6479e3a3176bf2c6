import { type Kysely, sql } from 'kysely';

/**
 * What the owner brings along: MCP servers, tools and skills. Each version is stored once; a yes holds for one version.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table extension_versions (
      hash text primary key, kind text not null, name text not null, declaration jsonb not null,
      found_at timestamptz not null default now(), agreed boolean, decided_at timestamptz, decided_by jsonb);
    create table extensions (
      kind text not null, name text not null, hash text references extension_versions, problem text,
      looked_at timestamptz not null default now(), primary key (kind, name));
    alter table turns add column extensions jsonb;
  `.execute(db);
}
