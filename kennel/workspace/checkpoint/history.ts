import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { git, makeScratch, NewerGit, objectFormat, type Repository, tryGit, tryKept } from '../git/git.ts';
import { type Head, headOf, isFolder, openRepository, type Place, textOrNull } from '../git/repository.ts';
import { readIndex } from '../git/snapshot.ts';
import { copyCommits, type Ref, refsOf } from '../git/transfer.ts';
import { Refusal } from '../refusal.ts';

/** Whether the version before made checkpoints in this workspace. */
const hasFormer = (repository: Repository): boolean =>
  tryGit(repository, ['for-each-ref', '--count=1', 'refs/fetch/']).stdout !== '';

/**
 * Takes over checkpoints that the version before made in the workspace itself, under `refs/fetch`. This is done once;
 * later refs there belong to somebody else.
 */
function adopt(repository: Repository): void {
  const done = join(repository.store!, 'adopted');
  if (existsSync(done)) return;
  const refs = git(repository, ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/fetch/'])
    .split('\n')
    .flatMap((line): Array<[string, string]> => {
      const [oid, name] = line.split(' ');
      return oid && name ? [[oid, name]] : [];
    });
  if (refs.length > 0) {
    const oids = [...new Set(refs.map(([oid]) => oid))];
    // a damaged one must not stop the others
    if (!copyCommits(repository, oids)) for (const oid of oids) copyCommits(repository, [oid]);
    // refs that the store already had stay as they are
    for (const [oid, name] of refs)
      tryKept(repository, ['update-ref', '--no-deref', name, oid, '0'.repeat(oid.length)]);
  }
  writeFileSync(done, '');
}

/**
 * The store of a workspace: our own git directory outside it, with all that undo needs. No agent's container mounts it.
 * Its name is random, so that no link that an agent leaves in the workspace can lead git there.
 */
type Format = 'sha1' | 'sha256';

/** A repository with its store. `opened`: refs and HEAD as they were then; a folder that is no repository has none. */
export interface History extends Repository {
  opened: { refs: Ref[]; head: Head };
}

/**
 * The workspace with its store: as a repository when its git folder is intact, else as plain files. Null when nothing
 * was ever saved and `make` is false.
 */
export function openHistory(place: Place, make: boolean): History | null {
  if (!isFolder(place.side)) {
    if (!make) return null;
    throw new Refusal('No folder is mounted that could keep the state of this workspace.');
  }
  const own = openOrDamage(place, make);
  const format: Format = typeof own === 'string' ? knownFormat(place.side) : objectFormat(own.commonDir);
  let store =
    storeFolder(place.side, format, make) ??
    (typeof own !== 'string' && hasFormer(own) ? storeFolder(place.side, format, true) : null);
  // a task may have created a repository in a plain folder, in the other format
  if (!store && !make) store = storeFolder(place.side, format === 'sha1' ? 'sha256' : 'sha1', false);
  if (!store) return null;
  if (typeof own !== 'string' && objectFormat(store) === format) {
    const repository = { ...own, store, scratch: makeScratch(own.commonDir, store) };
    adopt(repository);
    return repository;
  }
  const damage = typeof own === 'string' ? own : 'its objects have another format than before';
  const { root, worktree } = place;
  const opened = { refs: [], head: { commit: null, branch: null } };
  return {
    root,
    gitDir: store,
    commonDir: store,
    kept: 'beside',
    worktree,
    scratch: makeScratch(store, store),
    store,
    opened,
    ...(damage && { damage }),
  };
}

/**
 * The store of the workspace, for records of single files. Nothing of the repository is checked, because that takes the
 * longer the larger it is.
 */
export function openStore(place: Place): Repository {
  const own = usable(place);
  const store = storeFolder(place.side, own ? objectFormat(own.commonDir) : knownFormat(place.side), true)!;
  if (own && objectFormat(store) === objectFormat(own.commonDir))
    return { ...own, store, scratch: makeScratch(own.commonDir, store) };
  const { root, worktree } = place;
  return { root, gitDir: store, commonDir: store, kept: 'beside', worktree, scratch: makeScratch(store, store), store };
}

function usable(place: Place): Repository | null {
  try {
    return openRepository(place);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** The repository of the workspace; a reason when it is unusable; empty when there is none. */
function openOrDamage(place: Place, make: boolean): History | string {
  const folder = join(place.workspace, '.git');
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (!stats) return '';
  // it belongs to a repository elsewhere
  if (!stats.isDirectory()) return '';
  try {
    const repository = openRepository(place);
    if (!repository) return 'it has lost HEAD or its objects';
    const refs = refsOf(repository);
    readIndex(repository);
    const head = headOf(repository);
    if (!head.commit && tryGit(repository, ['rev-parse', '-q', '--verify', 'HEAD']).code === 0)
      return 'the commit of HEAD is missing or damaged';
    return { ...repository, opened: { refs, head } };
  } catch (error) {
    if (place.worktree !== null || (make && error instanceof NewerGit)) throw error;
    return (error as Error).message
      .replace(/^git [\w-]+: /, '')
      .split('\n')[0]!
      .slice(0, 300);
  }
}

const knownFormat = (side: string): Format =>
  !existsSync(join(side, 'sha1')) && existsSync(join(side, 'sha256')) ? 'sha256' : 'sha1';

/**
 * The folder of the store. A file named after the format holds the folder's name. When several calls create a store,
 * the first one to link that file wins.
 */
function storeFolder(side: string, format: Format, make: boolean): string | null {
  const pointer = join(side, format);
  // where the version before saved the state of folders without a repository
  const former = format === 'sha1' ? join(side, 'repository') : null;
  const adopts = former !== null && isFolder(former);
  if (!existsSync(pointer)) {
    if (!make && !adopts) return null;
    const name = `${format}-${randomBytes(16).toString('hex')}`;
    const fresh = join(side, `.${name}`);
    writeFileSync(fresh, name);
    try {
      linkSync(fresh, pointer);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(fresh, { force: true });
    }
  }
  const name = textOrNull(pointer) ?? '';
  if (!/^sha(1|256)-[0-9a-f]{32}$/.test(name)) throw new Error('the store of this workspace has no valid name');
  const store = join(side, name);
  if (!existsSync(join(store, 'HEAD'))) {
    if (adopts && !isFolder(store)) renameSync(former, store);
    else makeStore(store, format);
  }
  return store;
}

function makeStore(store: string, format: Format): void {
  for (const folder of ['objects/pack', 'refs/heads', 'info', 'tmp'])
    mkdirSync(join(store, folder), { recursive: true });
  const version = format === 'sha1' ? '0' : `1\n[extensions]\n\tobjectFormat = sha256`;
  writeFileSync(
    join(store, 'config'),
    `[core]\n\trepositoryformatversion = ${version}\n[core]\n\tbare = false\n\tlogAllRefUpdates = false\n[gc]\n\tauto = 0\n`,
  );
  // files that package managers can restore are treated like ignored files
  writeFileSync(join(store, 'info/exclude'), 'node_modules/\n.venv/\n__pycache__/\n');
  writeFileSync(join(store, 'HEAD'), 'ref: refs/heads/none\n');
}
