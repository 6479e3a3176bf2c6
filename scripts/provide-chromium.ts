import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { childEnvironment } from '../src/config.ts';

/**
 * The browser in which tests look at the owner's page: a Chromium or Chrome of this machine. Run as a script, it
 * installs Debian's where there is none: as root, because `npm test` and CI skip nothing there. Anywhere else it says
 * what to do.
 */

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const OF_MACOS = ['Google Chrome', 'Chromium'].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`);

/** Path of the program; null when there is none. */
export function findChromium(): string | null {
  const folders = (childEnvironment({}).PATH ?? '').split(delimiter);
  const files = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...files, ...OF_MACOS].find((file) => existsSync(file)) ?? null;
}

/** Another program that installs packages is waited for. */
function apt(...args: string[]): void {
  const env = { ...childEnvironment({}), DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=600', ...args], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

if (import.meta.main) {
  const isRoot = process.getuid?.() === 0;
  if (findChromium() === null && isRoot && existsSync('/usr/bin/apt-get')) {
    console.log('Installing chromium');
    apt('update');
    apt('install', '-y', '--no-install-recommends', 'chromium');
  }
  const found = findChromium();
  console.log(
    found ??
      'There is no Chromium and no Chrome, so tests of the page are skipped. Install one, such as with "apt install chromium".',
  );
  process.exitCode = found === null && isRoot ? 1 : 0;
}
