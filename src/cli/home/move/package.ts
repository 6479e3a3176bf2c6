import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createSealer } from '../../../adapters/encryption.ts';
import { copyTree, describeMoved, type MovedWorkspace } from '../../../adapters/moved-workspaces.ts';
import { findWorkspaces } from '../../../adapters/workspaces.ts';
import type { Config } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { opensCredentials } from '../../../gateway/channels/whatsapp/ratchet/own-key.ts';
import { VERSION } from '../../../installation.ts';
import { type Dump, dumpTables } from '../../../store/home/move/dump.ts';
import { type HomeFigures, readHomeFigures, unfinishedTasks } from '../../../store/home/move/figures.ts';
import { type Db, openStore } from '../../../store/postgres/database.ts';
import { copyFolder, syncFolder } from '../backup/archive.ts';
import { withScratchDatabase } from './scratch-database.ts';

/**
 * A home as it moves: a folder with its tables, its files, and a manifest that is written last. `fetch export-home`
 * leaves it for another machine, and a direct import makes one for itself, without the workspaces, which it copies from
 * where they are.
 */
export interface Manifest {
  format: 1;
  /** release that wrote it */
  version: string;
  at: string;
  /** names the home, by the hash of its chat key */
  home: string;
  dump: Dump;
  figures: HomeFigures;
  /** paths are relative to the folder where it has the workspaces itself */
  workspaces: MovedWorkspace[];
}

const MANIFEST = 'manifest.json';
export const tablesIn = (folder: string): string => join(folder, 'tables');
export const filesIn = (folder: string): string => join(folder, 'home');
export const isPackage = (folder: string): boolean => existsSync(join(folder, MANIFEST));

/**
 * Of the home: servers, what runs, what can be made again, the mark and the folders of moves, what is written again at
 * the other place, and the secrets of the embedded servers.
 */
const LEFT_OUT =
  /^(postgres(\.new)?|postgres-password|temporal.*|ui-token|bin|logs|start\.lock|run\.json.*|cache|kennel|workspaces|audit-head.*|moved\.json.*|moving-in\.json.*|\.probe-.*|\.backup-.*|\.restoring|\.import-home)$/;

/**
 * Writes a stopped home into `folder`; what an earlier export left there is replaced. The home stays as it is.
 * `config`: that of the home. @throws UserError
 */
export async function writePackage(
  config: Config,
  folder: string,
  { workspaces }: { workspaces: boolean },
): Promise<Manifest> {
  const home = config.FETCH_HOME;
  const secret = readSecret(home, 'chat-key');
  if (secret === null) throw new UserError(`${home} has no chat-key: Fetch has never run with it.`);
  for (const each of [tablesIn(folder), filesIn(folder)]) {
    rmSync(each, { recursive: true, force: true });
    mkdirSync(each, { recursive: true, mode: 0o700 });
  }
  const id = createHash('sha256').update(`home ${secret}`).digest('hex').slice(0, 16);
  const manifest = await withScratchDatabase(home, join(folder, '.scratch'), async (url) => {
    // an older release left it: this one's tables are what the other place has
    const store = await openStore(url, { max: 2, application: 'fetch-move' });
    try {
      await takeFiles(config, store.db, filesIn(folder));
      const moved = await workspacesOf(config, id, workspaces ? folder : null);
      const figures = await readHomeFigures(store.db);
      return {
        format: 1 as const,
        version: VERSION,
        at: new Date().toISOString(),
        home: id,
        figures,
        workspaces: moved,
        dump: await dumpTables(url, tablesIn(folder)),
      };
    } finally {
      await store.close();
    }
  });
  await syncFolder(folder);
  writeFileSync(join(folder, MANIFEST), JSON.stringify(manifest), { mode: 0o600, flush: true });
  return manifest;
}

/** @throws UserError */
export function readPackage(folder: string): Manifest {
  const manifest = JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')) as Manifest;
  if (manifest.format !== 1)
    throw new UserError(
      `${folder} was exported by release ${manifest.version}, in another form. Use the same release here.`,
    );
  const absolute = (path: string | null) => path && resolve(folder, path);
  return {
    ...manifest,
    workspaces: manifest.workspaces.map((each) => ({
      ...each,
      path: resolve(folder, each.path),
      side: absolute(each.side),
    })),
  };
}

function readSecret(home: string, name: string): string | null {
  const file = join(home, name);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() || null : null;
}

/**
 * Files of the home, the folders of tasks that are not finished, and the key that opens the stored credentials,
 * wherever it was set.
 */
async function takeFiles(config: Config, db: Db, to: string): Promise<void> {
  const home = config.FETCH_HOME;
  copyFolder(home, to, (path) => LEFT_OUT.test(path));
  for (const id of await unfinishedTasks(db)) {
    const run = join(home, 'kennel/runs', id);
    if (existsSync(run)) copyFolder(run, join(to, 'kennel/runs', id));
  }
  const key = config.FETCH_ENCRYPTION_KEY ?? readSecret(home, 'encryption-key');
  if (!(await opensCredentials(db, 'default', createSealer(key ?? '0'.repeat(64)))))
    throw new UserError(
      `The key of ${home} does not open its WhatsApp credentials. Was FETCH_ENCRYPTION_KEY set elsewhere? Write it to ${join(home, '.env')}, and begin again.`,
    );
  if (key !== null) writeFileSync(join(to, 'encryption-key'), `${key}\n`, { mode: 0o600 });
}

/** With their checkpoints. `into`: copies them there. */
async function workspacesOf(
  { FETCH_HOME, FETCH_WORKSPACES }: Config,
  id: string,
  into: string | null,
): Promise<MovedWorkspace[]> {
  const root = FETCH_WORKSPACES ?? join(FETCH_HOME, 'workspaces');
  if (!existsSync(root)) return [];
  const { workspaces } = await findWorkspaces(root);
  const moved: MovedWorkspace[] = [];
  for (const { path } of workspaces) {
    const found = await describeMoved(path);
    // one that no kennel has seen yet gets its id here, and the same one each time
    const identity = found.identity ?? createHash('sha256').update(`${id} ${found.name}`).digest('hex');
    moved.push(into === null ? { ...found, identity } : { ...(await copyInto(into, found)), identity });
  }
  return moved;
}

async function copyInto(folder: string, { name, path, side, identity }: MovedWorkspace): Promise<MovedWorkspace> {
  for (const each of ['workspaces', 'checkpoints']) mkdirSync(join(folder, each), { recursive: true, mode: 0o700 });
  for (const [from, to] of [
    [path, join(folder, 'workspaces', name)],
    [side, join(folder, 'checkpoints', name)],
  ] as const) {
    rmSync(to, { recursive: true, force: true });
    if (from) await copyTree(from, to);
  }
  return { name, identity, path: join('workspaces', name), side: side && join('checkpoints', name) };
}
