import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildWorkflowBundle } from '../../src/cli/roles/temporal/workflow-bundle.ts';

/**
 * What a release leaves behind for ever: histories of its runs, and its workflow code. Runs of it go on in the world,
 * so none of its files is ever changed. `checksums/<release>.sha256` (the format of sha256sum) is written when a file
 * is made, one line each, and only grows.
 */

const REPLAY = fileURLToPath(new URL('./', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export const historiesOf = (release: string): string => join(REPLAY, 'histories', release);
export const sourcesOf = (release: string): string => join(REPLAY, 'releases', `${release}.tar.gz`);
const listOf = (release: string): string => join(REPLAY, 'checksums', `${release}.sha256`);

/** Releases that have frozen files, the oldest first. */
export const releases = (): string[] =>
  readdirSync(join(REPLAY, 'checksums'))
    .map((file) => file.replace('.sha256', ''))
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

const sumOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Puts a file that was just made on the list of its release. */
export function freeze(release: string, file: string): void {
  mkdirSync(join(REPLAY, 'checksums'), { recursive: true });
  appendFileSync(listOf(release), `${sumOf(file)}  ${relative(REPLAY, file)}\n`);
}

/** The list of a release: checksum by file. */
export const frozen = (release: string): Map<string, string> =>
  new Map(
    readFileSync(listOf(release), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  );

/** The same of what lies in the folders. */
export function present(release: string): Map<string, string> {
  const folder = historiesOf(release);
  const files = existsSync(folder) ? readdirSync(folder).map((file) => join(folder, file)) : [];
  if (existsSync(sourcesOf(release))) files.push(sourcesOf(release));
  return new Map(files.map((file) => [relative(REPLAY, file), sumOf(file)]));
}

/** The workflow code of a release, bundled as production does it. */
export async function releaseBundle(release: string, entry = 'src/workflows/index.ts'): Promise<{ code: string }> {
  const folder = mkdtempSync(join(tmpdir(), `fetch-release-${release}-`));
  try {
    execFileSync('tar', ['-xzf', sourcesOf(release), '-C', folder]);
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return await buildWorkflowBundle(join(folder, entry));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
