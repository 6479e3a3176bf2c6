import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  constants,
  copyFileSync,
  createReadStream,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { chmod, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { seal, unseal } from '../../../adapters/backup/sealed-stream.ts';

/** Set user ID, set group ID, sticky. */
const SPECIAL_BITS = 0o7000;

/** A folder as one encrypted tar file. The system's `tar` reads only what was authenticated. */

export async function pack(secret: string, folder: string, file: string): Promise<number> {
  const half = `${file}.${process.pid}.new`;
  const output = await open(half, 'wx', 0o600);
  try {
    const tar = spawn('tar', ['-C', folder, '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = endOf(tar);
    ended.catch(() => {});
    // Node throws away what nobody has begun to read when a program ends, and a small folder is packed at once
    const packed = tar.stdout.pipe(new PassThrough());
    for await (const chunk of seal(secret, packed)) await output.writeFile(chunk);
    await ended;
    await output.sync();
    const { size } = await output.stat();
    await output.close();
    await rename(half, file);
    await syncOne(dirname(file));
    return size;
  } catch (error) {
    await output.close().catch(() => {});
    await rm(half, { force: true });
    throw error;
  }
}

/** Writes a folder through to the disk, with all that is in it. */
export async function syncFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncFolder(path);
    else if (entry.isFile()) await syncOne(path);
  }
  await syncOne(folder);
}

async function syncOne(path: string): Promise<void> {
  const file = await open(path, 'r');
  await file.sync();
  await file.close();
}

/** Unpacks into a folder. What lies there counts only when this resolves. */
export async function unpack(secret: string, file: string, folder: string): Promise<void> {
  const tar = spawn('tar', ['-C', folder, '--no-same-owner', '-xpf', '-'], { stdio: ['pipe', 'ignore', 'pipe'] });
  await fed(tar, secret, file);
  await disarm(folder);
}

/** Without devices, pipes and sockets, and without the bits by which a program runs as somebody else. */
async function disarm(path: string): Promise<void> {
  const entry = await lstat(path);
  if (entry.isSymbolicLink()) return;
  if (!entry.isDirectory() && !entry.isFile()) return await rm(path);
  if (entry.mode & SPECIAL_BITS) await chmod(path, entry.mode & 0o777);
  if (entry.isDirectory()) for (const name of await readdir(path)) await disarm(join(path, name));
}

/** The text of one entry, after the whole file was checked. */
export async function entryOf(secret: string, file: string, name: string): Promise<string> {
  const tar = spawn('tar', ['-xOf', '-', name], { stdio: ['pipe', 'pipe', 'pipe'] });
  const text = Readable.from(tar.stdout).toArray();
  await fed(tar, secret, file);
  return Buffer.concat((await text) as Buffer[]).toString('utf8');
}

async function fed(tar: ReturnType<typeof spawn>, secret: string, file: string): Promise<void> {
  const ended = endOf(tar);
  ended.catch(() => {});
  try {
    await pipeline(Readable.from(unseal(secret, createReadStream(file))), tar.stdin!);
  } finally {
    tar.stdin!.destroy();
    await ended.catch(() => {});
  }
  await ended;
}

async function endOf(tar: ReturnType<typeof spawn>): Promise<void> {
  let said = '';
  tar.stderr!.on('data', (chunk: Buffer) => {
    said = (said + chunk).slice(-1000);
  });
  const [code] = await once(tar, 'close');
  if (code !== 0) throw new Error(`tar ended with code ${code}: ${said.trim()}`);
}

/**
 * Copies a folder that somebody may be writing to. `skip` is asked with the path below the folder. Sockets and files
 * that vanish are left out.
 */
export function copyFolder(from: string, to: string, skip: (path: string) => boolean = () => false, below = ''): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(from)) {
    const path = below ? `${below}/${name}` : name;
    if (!skip(path)) copyEntry(join(from, name), join(to, name), skip, path);
  }
}

function copyEntry(from: string, to: string, skip: (path: string) => boolean, path: string): void {
  try {
    const entry = lstatSync(from);
    if (entry.isDirectory()) copyFolder(from, to, skip, path);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
    else if (entry.isFile()) copyFileSync(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
