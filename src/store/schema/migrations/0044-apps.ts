import { type Kysely, sql } from 'kysely';

/** The few apps that run, among all calls: `status` and each kennel host look for them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index calls_of_running_apps on calls (thread_id) where name = 'app_run' and metadata->'app'->>'state' = 'running'`.execute(
    db,
  );
}
