import { createHash } from 'node:crypto';
import { constants, cp, lstat, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DAY } from '../../domain/time.ts';

/**
 * What may be taken over from HOME of a task, which its agent can write: packages, and two settings of ours of which
 * `kennel/environment/fetched.sh` reads the address of a registry. It decides what of them is used.
 */
const TAKEN = [
  '.cargo/registry',
  '.cargo/git/db',
  '.cargo/config.toml',
  'go/pkg/mod/cache/download',
  '.m2/repository',
  '.m2/settings.xml',
  '.gradle/caches/modules-2',
  '.gradle/wrapper/dists',
  '.gem',
  '.local/lib',
  '.yarn/berry/cache',
];
const KEPT_MS = 14 * DAY;
/** Holds the workspace that a folder belongs to. */
const OWNER = 'workspace';

/** Packages that tasks fetched, by workspace, for the tests and commands there, which have no network. */
export class FetchedPackages {
  private readonly folder: string;

  constructor(home: string) {
    this.folder = join(home, 'kennel', 'fetched');
  }

  /** The packages of a workspace; null when no task has fetched any. */
  async of(workspace: string): Promise<string | null> {
    const folder = join(this.folderOf(workspace), 'home');
    const now = new Date();
    return await utimes(folder, now, now).then(
      () => folder,
      () => null,
    );
  }

  /**
   * Moves the packages out of HOME of a task, whose containers must be gone. A newer set replaces an older one. `goesOn`:
   * they are copied.
   */
  async keep(workspace: string, home: string, { goesOn }: { goesOn?: true } = {}): Promise<void> {
    const folder = this.folderOf(workspace);
    for (const path of TAKEN) {
      if (!(await isPlain(home, path))) continue;
      const to = join(folder, 'home', path);
      await mkdir(dirname(to), { recursive: true });
      await writeFile(join(folder, OWNER), workspace);
      await rm(to, { recursive: true, force: true });
      if (goesOn)
        await cp(join(home, path), to, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
      else await rename(join(home, path), to);
    }
  }

  /** Removes what nobody used for two weeks, and what belongs to a workspace that is gone. */
  async prune(): Promise<void> {
    for (const name of await readdir(this.folder).catch(() => [])) {
      const folder = join(this.folder, name);
      const used = await lstat(join(folder, 'home')).catch(() => null);
      const workspace = await readFile(join(folder, OWNER), 'utf8').catch(() => null);
      const isThere = workspace !== null && (await lstat(workspace).catch(() => null)) !== null;
      if (!used || !isThere || Date.now() - used.mtimeMs > KEPT_MS)
        await rm(folder, { recursive: true, force: true }).catch(() => {});
    }
  }

  private folderOf(workspace: string): string {
    return join(this.folder, createHash('sha256').update(workspace).digest('hex').slice(0, 24));
  }
}

/** Whether a path leads through folders alone, to a folder or a file: a link could lead anywhere on this host. */
async function isPlain(home: string, path: string): Promise<boolean> {
  const names = path.split('/');
  for (let depth = 0; depth <= names.length; depth++) {
    const stats = await lstat(join(home, ...names.slice(0, depth))).catch(() => null);
    if (!stats?.isDirectory() && !(depth === names.length && stats?.isFile())) return false;
  }
  return true;
}
