import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporalCache } from '../../src/cli/instance/instance.ts';
import { childEnvironment } from '../../src/config.ts';
import { provideTemporal } from '../../temporal/server.ts';
import type { Place } from './app.ts';

const idOf = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'nobody']));
const CLONE = fileURLToPath(new URL('../..', import.meta.url));

const run = (file: string, ...args: string[]): void =>
  void execFileSync(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });

/** Only root can act as another user and mount; in CI the tests are root, and a skipped test fails them. */
export const IS_ROOT = process.getuid?.() === 0;

/** Another user of this machine, who can read the clone and nothing else of ours. */
export interface OtherUser {
  /** for `startTestApp`, together with a home */
  place: Place & { node: string; entry: string; uid: number; gid: number };
  env: Record<string, string>;
  /** a folder of this user */
  folder: string;
  /** a folder of this user that is a file system of its own, of so many megabytes */
  disk(name: string, megabytes: number): Disk;
  close(): void;
}
export interface Disk {
  path: string;
  /** changes the size; 0: not a byte more than is used now */
  resize(megabytes: number): void;
  readOnly(): void;
}

/** Needs root and the right to mount, which the tests have in CI: nothing less shows a full or a read-only disk. */
export async function otherUser(): Promise<OtherUser> {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-user-'));
  const clone = join(folder, 'clone');
  const [uid, gid] = [idOf('-u'), idOf('-g')];
  const mounts: string[] = [];
  const own = (path: string) => {
    mkdirSync(path);
    chownSync(path, uid, gid);
    return path;
  };
  chmodSync(folder, 0o755);
  // mounted and not only named: the clone may lie below a folder of root's, and it is shown that it is only read
  mkdirSync(clone);
  run('mount', '--bind', CLONE, clone);
  mounts.push(clone);
  run('mount', '-o', 'remount,bind,ro', clone);
  const bin = own(join(folder, 'bin'));
  const temporal = await provideTemporal({
    home: folder,
    cache: temporalCache(childEnvironment({})),
    env: childEnvironment({}),
    install: false,
  });
  try {
    linkSync(temporal.path, join(bin, 'temporal'));
  } catch {
    copyFileSync(temporal.path, join(bin, 'temporal'));
  }
  const home = own(join(folder, 'home'));
  return {
    folder: home,
    env: { HOME: home, PATH: `${bin}:/usr/bin:/bin`, TMPDIR: home },
    place: { node: join(clone, 'node_modules/node/bin/node'), entry: join(clone, 'bin/fetch.js'), uid, gid, cwd: home },
    disk(name, megabytes) {
      const path = own(join(home, name));
      run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,uid=${uid},gid=${gid},mode=700`, 'fetch-test', path);
      mounts.push(path);
      return {
        path,
        resize: (size) => (size > 0 ? run('mount', '-o', `remount,size=${size}m`, path) : fill(path)),
        readOnly: () => run('mount', '-o', 'remount,ro', path),
      };
    },
    close() {
      for (const path of mounts.reverse()) run('umount', '--lazy', path);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The size becomes what is used; refused when more was written in between, so it is tried again. */
function fill(path: string): void {
  for (let attempt = 1; ; attempt++) {
    const used = execFileSync('df', ['--output=used', '--block-size=1', path])
      .toString()
      .trim()
      .split('\n')
      .at(-1)!
      .trim();
    try {
      run('mount', '-o', `remount,size=${used}`, path);
      return;
    } catch (error) {
      if (attempt === 20) throw error;
    }
  }
}
