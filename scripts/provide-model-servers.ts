import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../src/config.ts';

/**
 * Two real servers of models, between which tests put the product: llama.cpp's (in the package xllamacpp) and LiteLLM's
 * proxy. Run as a script, it installs their Python packages once, in a folder of their own. A list in another version
 * gets another folder.
 */

const LIST = fileURLToPath(new URL('model-servers.txt', import.meta.url));
export const PYTHON = 'python3';

/** The folder of the packages; null where they are not installed. */
export const findModelServers = (): string | null => (existsSync(folder()) ? folder() : null);

function folder(): string {
  const cache = childEnvironment({}).XDG_CACHE_HOME || join(homedir(), '.cache');
  const version = createHash('sha256').update(readFileSync(LIST)).digest('hex').slice(0, 12);
  return join(cache, 'fetch', `model-servers-${version}`);
}

function install(): void {
  const env = { ...childEnvironment({}), DEBIAN_FRONTEND: 'noninteractive' };
  const isRoot = process.getuid?.() === 0;
  if (spawnSync(PYTHON, ['-m', 'pip', '--version'], { env }).status !== 0 && isRoot && existsSync('/usr/bin/apt-get'))
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'python3-pip']])
      execFileSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=600', ...args], { env, stdio: 'inherit' });
  const begun = `${folder()}.${process.pid}`;
  const options = ['--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
  // the packages are those of the list, and nothing is compiled
  const exactly = ['--no-deps', '--only-binary', ':all:', '--requirement', LIST];
  try {
    execFileSync(PYTHON, ['-m', 'pip', 'install', ...options, ...exactly, '--target', begun], {
      env,
      stdio: 'inherit',
    });
    renameSync(begun, folder());
  } finally {
    rmSync(begun, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  try {
    if (findModelServers() === null) install();
    console.log(findModelServers());
  } catch (error) {
    console.error(`Tests with real servers of models need Python 3.11 or later with pip: ${(error as Error).message}`);
    process.exitCode = process.getuid?.() === 0 ? 1 : 0;
  }
}
