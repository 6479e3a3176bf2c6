import { type Kysely, sql } from 'kysely';

/** Direct edits of workspaces, among all calls: they are listed as snapshots. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index calls_edits on calls (ended_at desc) where ok and name in ('file_write', 'file_edit', 'file_delete')`.execute(
    db,
  );
}
