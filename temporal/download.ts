import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { type Progress, writableFolder } from './folders.ts';
import { CLI_VERSION } from './version.ts';

const OFFICIAL = `https://github.com/temporalio/cli/releases/download/v${CLI_VERSION}`;
const STALLED_MS = 30_000;

/**
 * SHA-256 of each official archive of CLI_VERSION. A hash that the download site publishes itself would prove nothing.
 */
const PINNED: Readonly<Record<string, string>> = {
  'temporal_cli_1.5.1_linux_amd64.tar.gz': 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  'temporal_cli_1.5.1_linux_arm64.tar.gz': 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  'temporal_cli_1.5.1_darwin_amd64.tar.gz': 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  'temporal_cli_1.5.1_darwin_arm64.tar.gz': 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
};

/** Where a release comes from, and the hash of its archive. Tests serve their own. */
export interface ReleaseSource {
  url: string;
  sha256: string;
}

/** @throws when no hash is pinned for this platform, because an unchecked program must not run */
function officialRelease(archive: string): ReleaseSource {
  const sha256 = PINNED[archive];
  if (!sha256) throw new Error(`no checksum of ${archive} is known, so it is not fetched`);
  return { url: OFFICIAL, sha256 };
}

export const archiveName = (platform = process.platform, arch: string = process.arch): string => {
  const os = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[platform as string];
  const cpu = { x64: 'amd64', arm64: 'arm64' }[arch];
  if (!os || !cpu) throw new Error(`there is no official build for ${platform} on ${arch}`);
  return `temporal_cli_${CLI_VERSION}_${os}_${cpu}.tar.gz`;
};

/**
 * Downloads, checks and unpacks the official build. Returns the path of the binary. An incomplete file never has the
 * final name.
 */
export async function downloadTemporal(options: {
  folders: readonly string[];
  from?: ReleaseSource;
  onProgress: (progress: Progress) => void;
}): Promise<string> {
  const archive = archiveName();
  const { url, sha256 } = options.from ?? officialRelease(archive);
  const folder = writableFolder(options.folders);
  const work = mkdtempSync(join(folder, '.download-'));
  const dispatcher = new EnvHttpProxyAgent({
    connectTimeout: 15_000,
    headersTimeout: STALLED_MS,
    bodyTimeout: STALLED_MS,
  });
  try {
    const file = join(work, archive);
    const actual = await save(`${url}/${archive}`, file, dispatcher, options.onProgress);
    if (sha256 !== actual)
      throw new Error(`the checksum of ${archive} is wrong (expected ${sha256}, received ${actual}); it was deleted`);
    options.onProgress({ text: 'Temporal server: checksum is right, unpacking' });
    await promisify(execFile)('tar', ['-xzf', file, '-C', work]);
    const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
    if (!existsSync(join(work, name))) throw new Error(`${archive} holds no ${name}`);
    renameSync(join(work, name), join(folder, name));
    return join(folder, name);
  } finally {
    rmSync(work, { recursive: true, force: true });
    await dispatcher.destroy();
  }
}

async function save(
  url: string,
  file: string,
  dispatcher: EnvHttpProxyAgent,
  onProgress: (progress: Progress) => void,
): Promise<string> {
  const response = await reach(url, dispatcher);
  if (!response.ok || !response.body) throw new Error(`${url} answers ${response.status}`);
  const total = Number(response.headers.get('content-length')) || undefined;
  const hash = createHash('sha256');
  let done = 0;
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      hash.update(chunk);
      done += chunk.length;
      onProgress({ text: 'Temporal server: downloading, once', done, total });
      next(null, chunk);
    },
  });
  await pipeline(Readable.fromWeb(response.body as never), meter, createWriteStream(file));
  if (total !== undefined && done !== total) throw new Error(`${url} broke off after ${done} of ${total} bytes`);
  return hash.digest('hex');
}

async function reach(url: string, dispatcher: EnvHttpProxyAgent) {
  try {
    return await fetch(url, { dispatcher, redirect: 'follow' });
  } catch (error) {
    const cause = (error as Error).cause as Error | undefined;
    throw new Error(`${url} cannot be reached: ${cause?.message || (error as Error).message}`);
  }
}
