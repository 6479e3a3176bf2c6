import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { Refusal } from '../refusal.ts';
import { shown } from './names.ts';

/** Opens a regular file without following a link, and without waiting for the other end of a pipe. */
export function openFile(absolute: string, path: string): number {
  let file: number;
  try {
    file = openSync(absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EACCES' || code === 'EPERM')
      throw new Refusal(`${shown(path)} may not be read by the user that the kennel runs as.`);
    throw error;
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Refusal(`${shown(path)} is not a regular file.`);
}

const BY_SHELL = ' Use a shell command instead.';

/** A text, and the bytes of another text as its file has them: in the same encoding, with its mark. */
export interface Text {
  text: string;
  encode(text: string): Buffer;
}

/** A whole text file of at most `limit` bytes, in UTF-8 or UTF-16, without its mark. Binary files are refused. */
export function readText(absolute: string, path: string, limit: number): string {
  return readEncoded(absolute, path, limit).text;
}

export function readEncoded(absolute: string, path: string, limit: number): Text {
  const bytes = readBytes(absolute, path, limit, BY_SHELL);
  const wide = utf16Of(bytes.subarray(0, START));
  if (!wide) refuseBinary(bytes, path, bytes.length);
  const found = textOf(bytes, wide ?? 'utf-8');
  if (!found.encode(found.text).equals(bytes))
    throw new Refusal(`${shown(path)} is not UTF-8 or UTF-16 text, and would be damaged by an edit.${BY_SHELL}`);
  return found;
}

export const utf8Bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

const MARK = '\ufeff';

function textOf(bytes: Buffer, encoding: Utf16 | 'utf-8'): Text {
  const whole = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
  const mark = whole.startsWith(MARK) ? MARK : '';
  const encode = (wanted: string): Buffer => {
    const text = mark + (wanted.startsWith(mark) ? wanted.slice(mark.length) : wanted);
    if (encoding === 'utf-8') return utf8Bytes(text);
    const little = Buffer.from(text, 'utf16le');
    return encoding === 'utf-16le' ? little : little.swap16();
  };
  return { text: whole.slice(mark.length), encode };
}

/** A whole file of at most `limit` bytes. `advice`: what to do with a larger one. */
export function readBytes(absolute: string, path: string, limit: number, advice: string): Buffer {
  const file = openFile(absolute, path);
  try {
    const size = fstatSync(file).size;
    if (size > limit)
      throw new Refusal(`${shown(path)} is too large for this (${sized(size)}; at most ${sized(limit)}).${advice}`);
    const bytes = Buffer.alloc(size);
    let length = 0;
    for (let read = 1; read > 0 && length < size; length += read)
      read = readSync(file, bytes, length, size - length, null);
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

type Utf16 = 'utf-16le' | 'utf-16be';

/** How many bytes tell what a file is. */
const START = 8_192;

/** The encoding of a UTF-16 file, which programs on Windows write, also without a mark; null for others. */
export function utf16Of(bytes: Buffer): Utf16 | null {
  const begins = bytes.toString('hex', 0, 4);
  // the mark of UTF-32
  if (begins === 'fffe0000') return null;
  if (begins.startsWith('fffe')) return 'utf-16le';
  if (begins.startsWith('feff')) return 'utf-16be';
  if (bytes.length % 2 !== 0 || !bytes.includes(0)) return null;
  const [little, big] = [plainCharsIn(bytes, 'utf-16le'), plainCharsIn(bytes, 'utf-16be')];
  return little === big ? null : little > big ? 'utf-16le' : 'utf-16be';
}

/** How many ASCII characters these bytes are in an encoding; 0 where they are no text in it. */
function plainCharsIn(bytes: Buffer, encoding: string): number {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true });
    const strange = /[\0-\x08\x0e-\x1f\x7f-\x9f\p{Cn}\p{Co}]/u;
    return strange.test(text) ? 0 : (text.match(/[\t-\r -~]/g)?.length ?? 0);
  } catch {
    return 0;
  }
}

export function startOf(file: number): Buffer {
  const start = Buffer.alloc(START);
  return start.subarray(0, readSync(file, start, 0, START, 0));
}

export function refuseBinary(start: Buffer, path: string, size: number): void {
  if (start.subarray(0, START).includes(0)) throw new Refusal(`${shown(path)} is a binary file (${sized(size)}).`);
}

export function sized(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
