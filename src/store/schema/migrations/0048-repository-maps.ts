import { type Kysely, sql } from 'kysely';

/** The map of each workspace's repository, as of one commit. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table repository_maps (
    host text not null, workspace text not null, head text not null, files integer not null, lines jsonb not null, made_at timestamptz not null default now(),
    primary key (host, workspace),
    foreign key (host, workspace) references workspaces (host, name) on delete cascade)`.execute(db);
}
