import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What a PostgreSQL server says of itself and of those who use it. */
export interface ServerFacts {
  version: string;
  /** of our database */
  bytes: number;
  /** of all databases */
  connections: number;
  maxConnections: number;
  /** names under which programs are connected with our database now */
  applications: string[];
}

export async function readServerFacts(db: Db): Promise<ServerFacts> {
  const [facts, applications] = await Promise.all([
    sql<Omit<ServerFacts, 'applications'>>`
      select current_setting('server_version') as version, pg_database_size(current_database())::float8 as bytes,
        (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
        current_setting('max_connections')::int as "maxConnections"`.execute(db),
    sql<{ name: string }>`
      select distinct application_name as name from pg_stat_activity where datname = current_database() and application_name like 'fetch-%'`.execute(
      db,
    ),
  ]);
  return { ...facts.rows[0]!, applications: applications.rows.map(({ name }) => name) };
}
