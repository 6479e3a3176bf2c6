import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { content, type Repository, tryGit } from './git.ts';
import { readIndex } from './snapshot.ts';
import { giveObjects } from './transfer.ts';
import { type Change, indexInfo, isSubmodule, same } from './trees.ts';

/** Changes the person's index entry by entry, so that everything else stays staged. */

/** Why the index cannot be written now; null when it can. */
export function indexLock(repository: Repository): string | null {
  const lock = join(repository.gitDir, 'index.lock');
  for (let tries = 0; existsSync(lock); tries += 1) {
    if (tries === 20) {
      return `another git process holds the index (index.lock in the git folder, since ${statSync(lock).mtime.toISOString()}); if none is running, remove that file`;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  return null;
}

/** Sets entries that still match `from`. Others were changed by somebody else, and stay. */
export function restage(repository: Repository, changes: readonly Change[]): void {
  if (changes.length === 0) return;
  const now = readIndex(repository).entries;
  const due = changes.filter((change) => same(now.get(change.path) ?? null, change.from));
  if (due.length === 0) return;
  giveObjects(
    repository,
    due.flatMap((change) => (change.to && !isSubmodule(change.to) ? [change.to.oid] : [])),
  );
  const zero = '0'.repeat((due[0]!.from ?? due[0]!.to)!.oid.length);
  const input = indexInfo(
    due.map((change) => [change.path, change.to]),
    zero,
  );
  content(repository, ['update-index', '-z', '--index-info'], { index: join(repository.gitDir, 'index'), input });
  // fills in sizes and times, so that the next status need not read the files; the exit code only says that some differ
  tryGit(repository, ['update-index', '-q', '--ignore-submodules', '--refresh']);
}
