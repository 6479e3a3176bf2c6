import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';

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

interface DumpedTable extends MovedTable {
  rows: number;
  /** of its file, hex */
  sha256: string;
}
/** What a dump has, so that it can be checked before and after it is loaded. */
export interface Dump {
  tables: DumpedTable[];
  /** the last value that each sequence gave */
  sequences: Record<string, string>;
  migrations: string[];
}

export const tableFile = (folder: string, name: string): string => join(folder, `${name}.copy`);

/**
 * Writes each table into a file of `folder`, in the text form of COPY, which every version of PostgreSQL reads. Nobody
 * else uses the database meanwhile: it is a copy that was made for this.
 */
export async function dumpTables(url: string, folder: string): Promise<Dump> {
  const client = new pg.Client({ connectionString: url, application_name: 'fetch-move' });
  client.on('error', () => {});
  await client.connect();
  try {
    // who held the account will not hold it there
    for (const table of ['wa_accounts', 'tg_bots'])
      await client.query(`update ${table} set lease_holder = null, lease_until = null`);
    const tables: DumpedTable[] = [];
    for (const table of await movedTables(client))
      tables.push({ ...table, ...(await dumpTable(client, table, tableFile(folder, table.name))) });
    const { rows } = await client.query<{ name: string; last: string }>(
      'select sequencename as name, last_value::text as last from pg_sequences where schemaname = current_schema() and last_value is not null',
    );
    return {
      tables,
      sequences: Object.fromEntries(rows.map(({ name, last }) => [name, last])),
      migrations: await migrationsOf(client),
    };
  } finally {
    await client.end();
  }
}

async function dumpTable(
  client: pg.Client,
  table: MovedTable,
  file: string,
): Promise<Pick<DumpedTable, 'rows' | 'sha256'>> {
  const hash = createHash('sha256');
  const source = client.query(copyTo(`copy ${quoted(table.name)} (${columnList(table)}) to stdout`));
  const hashing = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  await pipeline(source, hashing, createWriteStream(file, { mode: 0o600, flush: true }));
  return { rows: source.rowCount, sha256: hash.digest('hex') };
}
