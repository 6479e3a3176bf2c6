import { copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { databaseVersion } from '../../../../temporal/dev-server.ts';
import type { Config } from '../../../config.ts';
import { VERSION } from '../../../installation.ts';
import { baseBackup } from '../../../store/postgres/base-backup.ts';
import { clusterFolder, databaseUrl } from '../../instance/servers/postgres.ts';
import { copyFolder } from './archive.ts';

/** What a backup says of itself. */
export interface Manifest {
  version: string;
  at: string;
  platform: string;
  postgres: number;
  temporal: string | null;
  workspaces: boolean;
}

/** How the folder begins, below the home, in which a backup is put together. */
export const STAGED = '.backup-';
export const PLATFORM = `${process.platform}-${process.arch}`;
/**
 * Of the home: servers and what runs, what can be made again, and the noted end of the audit log, which may be newer
 * than the copy of that log.
 */
const LEFT_OUT =
  /^(postgres(\.new)?|temporal.*|logs|start\.lock|run\.json.*|cache|kennel|audit-head.*|\.probe-.*|\.backup-.*|\.restoring|moved\.json.*|moving-in\.json.*|\.import-home)$/;
/** PostgreSQL makes their content again; a copy of it would mislead the restored server. */
const EMPTIED =
  /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/|(^|\/)(pgsql_tmp[^/]*|pg_internal\.init.*)(\/|$)/;
const ALL_PAGES = 2 ** 31 - 1;
const CONTROL = 'global/pg_control';

/**
 * Puts a copy of a running instance into a folder. Temporal goes first, so its copy is the older one. PostgreSQL then
 * has everything that this Temporal has acted on: a step that is attempted again finds its stored result, and reconcile
 * gives Temporal what it lacks. In the other order finished turns would be told as lost. Keys go last, so every key
 * that the copies need is among them.
 */
export async function stage(
  config: Config,
  folder: string,
  { workspaces }: { workspaces: boolean },
): Promise<Manifest> {
  const { FETCH_HOME: home } = config;
  const temporal = databaseVersion(home);
  const cluster = clusterFolder(home)!;
  await copyPostgres(databaseUrl(home, config.FETCH_POSTGRES_PORT), cluster, join(folder, 'postgres'), async () => {
    for (const name of leftovers(home, folder)) rmSync(join(home, name), { recursive: true });
    if (temporal)
      await copyTemporal(join(home, `temporal-${temporal}.sqlite`), join(folder, `temporal-${temporal}.sqlite`));
  });
  copyFolder(home, join(folder, 'home'), (path) => LEFT_OUT.test(path) || (path === 'workspaces' && !workspaces));
  const manifest: Manifest = {
    version: VERSION,
    at: new Date().toISOString(),
    platform: PLATFORM,
    postgres: Number(readFileSync(join(cluster, 'PG_VERSION'), 'utf8')),
    temporal,
    workspaces,
  };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  return manifest;
}

/** Of backups that were killed: no other one is being made. */
const leftovers = (home: string, own: string): string[] =>
  readdirSync(home).filter((name) => name.startsWith(STAGED) && join(home, name) !== own);

/**
 * All pages in one step, which is one read transaction. In several steps, SQLite would begin again at each write of the
 * server.
 */
async function copyTemporal(from: string, to: string): Promise<void> {
  const db = new DatabaseSync(from, { readOnly: true, timeout: 10_000 });
  try {
    await backup(db, to, { rate: ALL_PAGES });
  } finally {
    db.close();
  }
}

const copyPostgres = (url: string, from: string, to: string, before: () => Promise<void>): Promise<void> =>
  baseBackup(url, {
    before,
    async data() {
      copyFolder(from, to, (path) => EMPTIED.test(path) || /^postmaster\./.test(path) || path === CONTROL);
      // last, as PostgreSQL's own program does it
      copyFileSync(join(from, CONTROL), join(to, CONTROL));
      if (
        readdirSync(join(from, 'pg_tblspc')).some((name) => lstatSync(join(from, 'pg_tblspc', name)).isSymbolicLink())
      )
        throw new Error('The database has tablespaces outside of its folder, which a backup would not have.');
    },
    async log({ first, last, label }) {
      mkdirSync(join(to, 'pg_wal'), { recursive: true, mode: 0o700 });
      const names = readdirSync(join(from, 'pg_wal')).filter(
        (name) => /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last,
      );
      if (!names.includes(first) || !names.includes(last))
        throw new Error('PostgreSQL has removed a part of its log that the backup needs.');
      for (const name of names) copyFileSync(join(from, 'pg_wal', name), join(to, 'pg_wal', name));
      writeFileSync(join(to, 'backup_label'), label, { mode: 0o600 });
    },
  });
