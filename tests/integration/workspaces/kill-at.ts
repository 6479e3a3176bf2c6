import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Workspace } from './program.ts';

/** A copy of a workspace and of its store, in folders of its own. */
export function copyOf(original: Workspace): Workspace {
  const copy = new Workspace();
  cpSync(original.root, copy.root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  cpSync(original.side, copy.side, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/** Which calls of git count: lines of a shell script around the one that counts. */
interface Counted {
  before: readonly string[];
  after: readonly string[];
}

/**
 * Puts a `git` first in PATH that kills the program instead of doing its n-th call that counts. Returns a reading of
 * the number of such calls.
 */
export function killAt(w: Workspace, n: number, { before, after }: Counted = { before: [], after: [] }): () => number {
  const bin = join(w.base, 'bin');
  const count = join(w.base, 'count');
  mkdirSync(bin, { recursive: true });
  writeFileSync(count, '0');
  const lines = [
    ...before,
    `n=$(($(cat ${count}) + 1)); echo $n > ${count}`,
    `if [ $n -eq ${n} ]; then kill -9 $PPID; exit 1; fi`,
    ...after,
    `PATH=${process.env.PATH} exec git "$@"`,
  ];
  writeFileSync(join(bin, 'git'), `#!/bin/sh\n${lines.join('\n')}\n`);
  chmodSync(join(bin, 'git'), 0o755);
  w.env = { PATH: `${bin}:${process.env.PATH}` };
  return () => Number(readFileSync(count, 'utf8'));
}
