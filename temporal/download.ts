import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, fetch } from 'undici';
import type { Progress } from './progress.ts';
import { CLI_VERSION } from './version.ts';

const OFFICIAL = `https://github.com/temporalio/cli/releases/download/v${CLI_VERSION}`;
const STALLED_MS = 30_000;

/** First of `folders` that can be written to. */
export function writableFolder(folders: readonly string[]): string {
  const problems: string[] = [];
  for (const folder of folders) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      rmSync(mkdtempSync(join(folder, '.try-')), { recursive: true });
      return folder;
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  throw new Error(`nowhere to put it: ${problems.join('; ')}`);
}

export const archiveName = (platform = process.platform, arch: string = process.arch): string => {
  const os = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[platform as string];
  const cpu = { x64: 'amd64', arm64: 'arm64' }[arch];
  if (!os || !cpu) throw new Error(`there is no official build for ${platform} on ${arch}`);
  return `temporal_cli_${CLI_VERSION}_${os}_${cpu}.tar.gz`;
};

/** Fetches, checks and unpacks the official build; returns the path of the binary. Nothing half-done is left under its final name. */
export async function downloadTemporal(options: { folders: readonly string[]; from?: string; onProgress: (progress: Progress) => void }): Promise<string> {
  const archive = archiveName();
  const base = options.from ?? OFFICIAL;
  const folder = writableFolder(options.folders);
  const work = mkdtempSync(join(folder, '.download-'));
  const dispatcher = new EnvHttpProxyAgent({ connectTimeout: 15_000, headersTimeout: STALLED_MS, bodyTimeout: STALLED_MS });
  try {
    const file = join(work, archive);
    const expected = await publishedChecksum(`${base}/checksums.txt`, archive, dispatcher);
    const actual = await save(`${base}/${archive}`, file, dispatcher, options.onProgress);
    if (expected && expected !== actual) throw new Error(`the checksum of ${archive} is wrong (published ${expected}, received ${actual}); it was thrown away`);
    options.onProgress({ text: expected ? 'Temporal server: checksum is right, unpacking' : 'Temporal server: unpacking (no checksum is published for it)' });
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

/** Null only when nothing is published; a checksum that cannot be fetched is a failure, not a reason to trust. */
async function publishedChecksum(url: string, archive: string, dispatcher: EnvHttpProxyAgent): Promise<string | null> {
  const response = await reach(url, dispatcher);
  if (response.status === 404) {
    await response.body?.cancel();
    return null;
  }
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  const line = (await response.text()).split('\n').find((each) => each.trim().endsWith(archive));
  return /^[0-9a-f]{64}/i.exec(line ?? '')?.[0].toLowerCase() ?? null;
}

async function save(url: string, file: string, dispatcher: EnvHttpProxyAgent, onProgress: (progress: Progress) => void): Promise<string> {
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
