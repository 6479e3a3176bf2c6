import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, sep } from 'node:path';
import { UserError } from '../src/contracts/user-error.ts';
import type { ReleaseSource } from './download.ts';
import { goBinFolders, type Progress } from './folders.ts';
import { CLI_VERSION, inspect, type TemporalBinary } from './version.ts';

export interface Attempt {
  source: string;
  reason: string;
}
export interface ProvisionOptions {
  /** FETCH_HOME: `<home>/bin` is searched first, and written to when `cache` is not writable */
  home: string;
  /** folder that all homes of this user share, named by version */
  cache: string;
  /** source of PATH, GOBIN, GOPATH, HOME and the proxy settings */
  env: Record<string, string>;
  /**
   * minor version (`1.29`) of a server that already has a database in this home, because the dev server never migrates
   * one
   */
  preferServer?: string | null;
  onProgress?: (progress: Progress) => void;
  /** false: only search, install nothing */
  install?: boolean;
  /** tests point it at a local server */
  downloadFrom?: ReleaseSource;
}

/**
 * No server could be found or installed. `message` lists what was tried, why each attempt failed, and what the person
 * can do.
 */
export class ProvisionError extends UserError {
  override readonly name = 'ProvisionError';
  readonly attempts: readonly Attempt[];
  constructor(attempts: readonly Attempt[]) {
    super(
      `No Temporal server could be found or installed. What was tried:\n${attempts.map(({ source, reason }) => `  - ${source}: ${reason}`).join('\n')}\n` +
        `What you can do, any one of:\n` +
        `  - install the Temporal CLI and start again: https://docs.temporal.io/cli#install\n` +
        `  - put a "temporal" binary (version ${CLI_VERSION} is the tested one) into the folder bin of the state folder\n` +
        `  - use a server that runs elsewhere: TEMPORAL_ADDRESS=host:7233 (or --temporal-address)`,
    );
    this.attempts = attempts;
  }
}

/**
 * The binary of the embedded Temporal server: one that already exists (the caches, PATH, Go's folders), else the
 * official download, else a build with Go. It is verified by running it before it is returned.
 */
export async function provideTemporal(options: ProvisionOptions): Promise<TemporalBinary> {
  const { home, cache, env, onProgress = () => {} } = options;
  const attempts: Attempt[] = [];
  const found: TemporalBinary[] = [];
  for await (const [source, path] of candidates(home, cache, env)) {
    if (!existsSync(path)) continue;
    try {
      const binary = await inspect(path);
      // a person put the binary of the state folder there, which is how another minor version is chosen
      if (source === STATE_FOLDER || !options.preferServer || binary.server.startsWith(`${options.preferServer}.`))
        return binary;
      found.push(binary);
    } catch (error) {
      attempts.push({ source, reason: (error as Error).message });
    }
  }
  // not the minor version of the database, so its conversations would be unreachable; but no better one is available
  if (found[0]) return found[0];
  if (attempts.length === 0)
    attempts.push({ source: 'PATH, caches, Go folders', reason: 'no "temporal" binary there' });
  if (options.install === false) throw new ProvisionError(attempts);
  const folders = [cache, join(home, 'bin')];
  for (const [source, obtain] of [
    // loaded when wanted: who supervises an instance for weeks has fetched its server once
    [
      'official download',
      async () => (await import('./download.ts')).downloadTemporal({ folders, from: options.downloadFrom, onProgress }),
    ],
    ['go build', async () => (await import('./go-install.ts')).goBuildTemporal({ folders, env, onProgress })],
  ] as const) {
    try {
      const binary = await inspect(await obtain());
      if (dirname(binary.path) === cache) removeOld(cache);
      return binary;
    } catch (error) {
      attempts.push({ source, reason: (error as Error).message });
    }
  }
  throw new ProvisionError(attempts);
}

/** Removes the folders of earlier versions, but not the newest of them, for which there is a way back. */
function removeOld(cache: string): void {
  const earlier = readdirSync(dirname(cache))
    .filter((name) => /^temporal-\d/.test(name) && name !== basename(cache))
    .map((name) => join(dirname(cache), name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const folder of earlier.slice(1)) rmSync(folder, { recursive: true, force: true });
}

const STATE_FOLDER = 'state folder';

/** In order of preference, each with the name that a person knows the place by. */
async function* candidates(
  home: string,
  cache: string,
  env: Record<string, string>,
): AsyncGenerator<[source: string, path: string]> {
  const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
  yield [STATE_FOLDER, join(home, 'bin', name)];
  yield ['cache', join(cache, name)];
  // npm puts the folders of every parent's packages first, and a package with the server's name must not be used
  for (const folder of (env.PATH ?? '').split(delimiter))
    if (isAbsolute(folder) && !folder.split(sep).includes('node_modules')) yield ['PATH', join(folder, name)];
  // last, because Go is asked for them
  for (const folder of await goBinFolders(env)) yield ['Go folder', join(folder, name)];
}
