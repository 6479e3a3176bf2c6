import { closeSync, type Dirent, fstatSync, lstatSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { bounded, LIMITS } from '../limits.ts';
import { Refusal } from '../refusal.ts';
import { isGitName, shown } from './names.ts';
import { existing } from './paths.ts';
import { openFile, readBytes, refuseBinary, sized, startOf, utf16Of } from './text.ts';

/** Entries of a folder and its subfolders, folders first, without git's own files and the content of `node_modules`. */
export function list(root: string, path: string, depth: number, limit: number): WorkspaceAnswer {
  const folder = existing(root, path);
  if (!folder.stats.isDirectory()) throw new Refusal(`${shown(path)} is a file; read it instead.`);
  const most = Math.min(Math.max(1, Math.floor(limit)), 5_000);
  const lines: string[] = [];
  const entries: string[] = [];
  let left = 0;
  let seen = 0;
  let stopped = false;
  const visit = (absolute: string, relative: string, level: number): void => {
    for (const entry of sorted(absolute)) {
      if (isGitName(entry.name)) continue;
      seen += 1;
      if (seen > LIMITS.walkEntries) {
        stopped = true;
        return;
      }
      const name = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (lines.length < most) {
        lines.push(`${'  '.repeat(level)}${described(absolute, entry)}`);
        entries.push(entry.isDirectory() ? `${name}/` : name);
      } else left += 1;
      const deeper =
        level + 1 < Math.min(Math.max(1, depth), 20) && entry.isDirectory() && entry.name !== 'node_modules';
      if (deeper && !stopped) visit(join(absolute, entry.name), name, level + 1);
    }
  };
  visit(folder.absolute, folder.path === '.' ? '' : folder.path, 0);
  const more =
    left > 0
      ? `\n… ${left}${stopped ? ' or more' : ''} more entries are left out; list a folder further in, or with a higher limit`
      : '';
  const output = lines.length === 0 ? `${shown(folder.path)} is empty.` : bounded(lines.join('\n')) + more;
  return { ok: true, output, data: { entries, left } };
}

function sorted(folder: string): Dirent[] {
  const rank = (entry: Dirent) => (entry.isDirectory() ? 0 : 1);
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
  return entries.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

function described(folder: string, entry: Dirent): string {
  const name = shown(entry.name);
  if (entry.isDirectory()) return `${name}/`;
  try {
    if (entry.isSymbolicLink()) return `${name} -> ${shown(readlinkSync(join(folder, entry.name)))}`;
    if (!entry.isFile()) return `${name} (neither file nor folder)`;
    return `${name} (${sized(lstatSync(join(folder, entry.name)).size)})`;
  } catch {
    // a name that is not UTF-8 cannot be asked for
    return name;
  }
}

/** Lines of a file with their numbers. It reads only as much of the file as needed. */
export function read(root: string, path: string, from: number, count: number): WorkspaceAnswer {
  const found = existing(root, path);
  if (found.stats.isDirectory()) throw new Refusal(`${shown(path)} is a folder; list it instead.`);
  const first = Math.max(1, Math.floor(from));
  const last = first + Math.min(Math.max(1, Math.floor(count)), 5_000) - 1;
  const file = openFile(found.absolute, path);
  try {
    const size = fstatSync(file).size;
    const wide = utf16Of(startOf(file));
    const taken = wide
      ? takeWide(new TextDecoder(wide).decode(readBytes(found.absolute, path, LIMITS.readBytes, '')), first, last)
      : takeLines(file, path, size, first, last);
    if (taken.lines.length === 0) {
      if (size === 0)
        return {
          ok: true,
          output: `${shown(found.path)} is empty.`,
          data: { path: found.path, from: first, lines: 0, size },
        };
      if (taken.complete) throw new Refusal(`${shown(path)} has ${taken.seen} lines; line ${first} is not there.`);
      throw new Refusal(
        `${shown(path)} is too large to be read up to line ${first} (${sized(size)}). Use a shell command like "sed -n ${first},${last}p".`,
      );
    }
    const width = String(first + taken.lines.length - 1).length;
    const numbered = taken.lines.map((line, index) => `${String(first + index).padStart(width)}  ${line}`).join('\n');
    const end = first + taken.lines.length - 1;
    const more = taken.complete ? '' : `\n… more lines follow after line ${end} (${sized(size)} in all)`;
    const lost = numbered.includes(LOST) ? `\n… ${LOST} stands for what is not UTF-8 in this file` : '';
    return {
      ok: true,
      output: bounded(numbered) + more + lost,
      data: { path: found.path, from: first, lines: taken.lines.length, size, complete: taken.complete },
    };
  } finally {
    closeSync(file);
  }
}

/** What a decoder puts in place of bytes that are no character. */
const LOST = '\ufffd';

interface Taken {
  lines: string[];
  seen: number;
  complete: boolean;
}

/** The same as `takeLines`, of a text that is in memory. */
function takeWide(text: string, first: number, last: number): Taken {
  const all = text.split(/\r?\n/);
  if (all.at(-1) === '') all.pop();
  const lines: string[] = [];
  let chars = 0;
  for (const line of all.slice(first - 1, last)) {
    if (chars > LIMITS.outputChars) break;
    const more = line.length - LIMITS.lineChars;
    lines.push(shownLine(line.slice(0, LIMITS.lineChars)) + (more > 0 ? ` … (${more} more)` : ''));
    chars += lines.at(-1)!.length;
  }
  return { lines, seen: all.length, complete: first - 1 + lines.length >= all.length };
}

function takeLines(file: number, path: string, size: number, first: number, last: number): Taken {
  const chunk = Buffer.alloc(256 * 1024);
  const lines: string[] = [];
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let cutBytes = 0;
  let number = 1;
  let total = 0;
  let shownChars = 0;
  const end = () => {
    if (number >= first) {
      const text = Buffer.concat(kept).toString('utf8').replace(/\r$/, '');
      const line =
        shownLine(text.slice(0, LIMITS.lineChars)) +
        (text.length > LIMITS.lineChars || cutBytes > 0
          ? ` … (${text.length - Math.min(text.length, LIMITS.lineChars) + cutBytes} more)`
          : '');
      lines.push(line);
      shownChars += line.length;
    }
    kept = [];
    keptBytes = 0;
    cutBytes = 0;
    number += 1;
  };
  for (;;) {
    const length = readSync(file, chunk, 0, chunk.length, null);
    if (length === 0) break;
    if (total === 0) refuseBinary(chunk.subarray(0, length), path, size);
    total += length;
    for (let start = 0; start < length; ) {
      const newline = chunk.indexOf(10, start);
      const stop = newline < 0 || newline >= length ? length : newline;
      if (number >= first) {
        const part = chunk.subarray(start, Math.min(stop, start + Math.max(0, LIMITS.lineChars * 4 - keptBytes)));
        kept.push(Buffer.from(part));
        cutBytes += stop - start - part.length;
      }
      keptBytes += stop - start;
      start = stop + 1;
      if (stop === length) break;
      end();
      if (number > last || shownChars > LIMITS.outputChars)
        return { lines, seen: number - 1, complete: start >= length && total >= size };
    }
    if (total > LIMITS.readBytes) return { lines, seen: number - 1, complete: false };
  }
  if (keptBytes > 0) end();
  return { lines, seen: number - 1, complete: true };
}

/** A line of a file without the characters that a terminal would act on; tabs stay. */
export const shownLine = (line: string): string =>
  line.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (char) => shown(char));
