import type pg from 'pg';

/** A table as it is moved to another database. */
export interface MovedTable {
  name: string;
  /** without generated ones */
  columns: string[];
}

/**
 * What belongs to a database or an installation itself: its schema, the keys of its Temporal server, and the hosts that
 * report to it.
 */
const STAYS = ['kysely_migration', 'kysely_migration_lock', 'payload_keys', 'kennel_hosts'];

/**
 * Every table that moves. A table comes after those that its foreign keys name, so rows can be stored in this order.
 */
export async function movedTables(client: pg.ClientBase): Promise<MovedTable[]> {
  const { rows } = await client.query<MovedTable & { needs: string[] }>(
    `select c.relname as name,
       (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
       coalesce((select array_agg(distinct f.relname::text) from pg_constraint k join pg_class f on f.oid = k.confrelid
         where k.contype = 'f' and k.conrelid = c.oid and k.confrelid <> c.oid), '{}') as needs
     from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname <> all($1)
     order by c.relname`,
    [STAYS],
  );
  const left = new Map(rows.map((row) => [row.name, row]));
  const sorted: MovedTable[] = [];
  while (left.size > 0) {
    const free = [...left.values()].filter(({ needs }) => !needs.some((name) => left.has(name)));
    if (free.length === 0)
      throw new Error(`These tables need each other and cannot be moved: ${[...left.keys()].join(', ')}.`);
    for (const { name, columns } of free) {
      sorted.push({ name, columns });
      left.delete(name);
    }
  }
  return sorted;
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
export const columnList = ({ columns }: MovedTable): string => columns.map(quoted).join(', ');

/** Migrations that a database has, oldest first. */
export async function migrationsOf(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('select name from kysely_migration order by name');
  return rows.map(({ name }) => name);
}
