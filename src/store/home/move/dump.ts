import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { columnList, type MovedTable, migrationsOf, movedTables, quoted } from './tables.ts';

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
    await client.query('update wa_accounts set lease_holder = null, lease_until = null');
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
