import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { git, type Repository, tryGit, tryKept } from '../git/git.ts';
import { copyCommits } from '../git/transfer.ts';

/** Whether the version before made checkpoints in this workspace. */
export const hasFormer = (repository: Repository): boolean =>
  tryGit(repository, ['for-each-ref', '--count=1', 'refs/fetch/']).stdout !== '';

/**
 * Takes over checkpoints that the version before made in the workspace itself, under `refs/fetch`. This is done once;
 * later refs there belong to somebody else.
 */
export function adopt(repository: Repository): void {
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
