import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freeze, sourcesOf } from './frozen.ts';

/**
 * Keeps the workflow code of a release, for the tests that deploy today's code beside it: `npm run freeze-release --
 * COMMIT`. The commit is the released one; its package.json names the release. The archive holds the id of the commit
 * (`gzip -dc FILE | git get-tar-commit-id`).
 */

const commit = process.argv[2];
if (!commit) throw new Error('Which commit was released? npm run freeze-release -- COMMIT');
const root = fileURLToPath(new URL('../../', import.meta.url));
const git = (...args: string[]): Buffer => execFileSync('git', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
const { version } = JSON.parse(git('show', `${commit}:package.json`).toString()) as { version: string };
const file = sourcesOf(version);
if (existsSync(file)) throw new Error(`The code of ${version} is frozen already, and is never written over.`);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(
  file,
  git('archive', '--format=tar.gz', commit, 'package.json', 'src/workflows', 'src/contracts', 'src/domain'),
  { flag: 'wx' },
);
freeze(version, file);
console.log(`The workflow code of ${version} is in ${file}`);
