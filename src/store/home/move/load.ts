import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { UserError } from '../../../contracts/user-error.ts';
import { columnList, type Dump, type MovedTable, migrationsOf, movedTables, quoted, tableFile } from './dump.ts';

interface Loading {
  dump: Dump;
  /** has the files of the dump */
  folder: string;
  /** names the home that is moved */
  home: string;
  /** may delete what somebody has said or done here */
  replace: boolean;
}

/** Throws where a file is not the one that was dumped. */
export async function checkDump({ tables }: Dump, folder: string): Promise<void> {
  for (const { name, sha256 } of tables) {
    const hash = createHash('sha256');
    const file = tableFile(folder, name);
    await pipeline(createReadStream(file), hash).catch((error) => {
      throw new Error(`${file} cannot be read (${(error as Error).message}). Copy the folder again.`);
    });
    if (hash.digest('hex') !== sha256) throw new Error(`${file} is damaged or incomplete. Copy the folder again.`);
  }
}

/**
 * Puts a dump in the place of everything that the database has, in one transaction: a reader sees what was there, or
 * all of the dump. Triggers do not run: they would write into the audit log what it has already.
 */
export async function loadTables(url: string, { dump, folder, home, replace }: Loading): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'fetch-move',
    statement_timeout: 0,
    lock_timeout: 30_000,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('begin');
    const here = await tablesFor(client, dump);
    const all = here.map(({ name }) => quoted(name)).join(', ');
    await client.query(`lock table ${all} in access exclusive mode`);
    if (!replace && (await isUsed(client)))
      throw new UserError('The database has chats by now. Import with --replace to delete them.');
    for (const { name } of here) await client.query(`alter table ${quoted(name)} disable trigger user`);
    await client.query(`truncate ${all}`);
    for (const table of dump.tables) await loadTable(client, table, table.rows, folder);
    for (const [name, last] of Object.entries(dump.sequences))
      await client.query('select setval($1::regclass, $2)', [quoted(name), last]);
    // a table with checks that wait for the commit cannot be altered
    await client.query('set constraints all immediate');
    for (const { name } of here) await client.query(`alter table ${quoted(name)} enable trigger user`);
    await client.query(
      `insert into imports (kind, key) values ('home', $1) on conflict (kind, key) do update set imported_at = now()`,
      [home],
    );
    await client.query(
      `select audit_append('home imported', '{"role": "terminal"}', jsonb_build_object('home', $1::text))`,
      [home],
    );
    await client.query('commit');
    // the planner knows nothing of tables that were just filled
    await client.query('analyze');
  } finally {
    await client.end();
  }
}

/** Somebody has talked here, or linked WhatsApp. */
async function isUsed(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ used: boolean }>(
    'select exists (select from chats) or exists (select from wa_accounts) as used',
  );
  return rows[0]!.used;
}

/** The tables of this database, which must be those of the dump. */
async function tablesFor(client: pg.ClientBase, { migrations, tables }: Dump): Promise<MovedTable[]> {
  const here = await migrationsOf(client);
  if (here.join() !== migrations.join())
    throw new Error('The tables of the dump are those of another release. Export and import with the same release.');
  const found = await movedTables(client);
  const names = (each: readonly MovedTable[]) =>
    each
      .map(({ name }) => name)
      .sort()
      .join();
  if (names(found) !== names(tables))
    throw new Error('The database has other tables than the dump. Give Fetch a database of its own.');
  return found;
}

async function loadTable(client: pg.Client, table: MovedTable, rows: number, folder: string): Promise<void> {
  const target = client.query(copyFrom(`copy ${quoted(table.name)} (${columnList(table)}) from stdin`));
  await pipeline(createReadStream(tableFile(folder, table.name)), target);
  if (target.rowCount !== rows)
    throw new Error(`Of ${rows} rows of ${table.name} only ${target.rowCount} were stored.`);
}
