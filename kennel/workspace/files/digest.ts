import { createHash, type Hash } from 'node:crypto';
import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { LIMITS } from '../limits.ts';
import { existing } from './paths.ts';
import { readBytes } from './text.ts';

/** A folder is too large to be read whole. */
class TooMuch extends Error {}

interface Left {
  entries: number;
  bytes: number;
}

/**
 * SHA-256 of a file's content, or of everything in a folder: names, kinds, contents and targets of links, with git's
 * own files. Null for a folder that is too large, and where something cannot be read.
 */
export function digest(root: string, path: string): WorkspaceAnswer {
  const found = existing(root, path);
  const hash = createHash('sha256');
  const left = { entries: LIMITS.digestEntries, bytes: LIMITS.digestBytes };
  try {
    if (found.stats.isDirectory()) addFolder(hash, Buffer.from(found.absolute), left);
    else hash.update(bytesOf(found.absolute, left));
  } catch {
    return { ok: true, output: '', data: { digest: null } };
  }
  return { ok: true, output: '', data: { digest: hash.digest('hex') } };
}

function bytesOf(absolute: string, left: Left): Buffer {
  const bytes = readBytes(absolute, absolute, left.bytes, '');
  left.bytes -= bytes.length;
  return bytes;
}

/** Each part is preceded by its length, so that no two folders give the same bytes. */
function addFolder(hash: Hash, folder: Buffer, left: Left): void {
  const names = readdirSync(folder, { encoding: 'buffer' }).sort(Buffer.compare);
  for (const name of names) {
    left.entries -= 1;
    if (left.entries < 0) throw new TooMuch();
    const at = Buffer.concat([folder, Buffer.from('/'), name]);
    const stats = lstatSync(at);
    const part = (kind: string, content: Buffer) =>
      hash.update(`${kind} ${name.length} ${content.length}\n`).update(name).update(content);
    if (stats.isDirectory()) {
      part('folder', Buffer.alloc(0));
      addFolder(hash, at, left);
      hash.update('end\n');
    } else if (stats.isSymbolicLink()) part('link', readlinkSync(at, { encoding: 'buffer' }));
    else if (stats.isFile())
      part(stats.mode & 0o111 ? 'program' : 'file', bytesOf(join(folder.toString(), name.toString()), left));
    else part('other', Buffer.alloc(0));
  }
}
