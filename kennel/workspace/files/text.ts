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

/** A whole text file of at most `limit` bytes. Binary files are refused. */
export function readText(absolute: string, path: string, limit: number): string {
  const bytes = readBytes(absolute, path, limit, BY_SHELL);
  refuseBinary(bytes, path, bytes.length);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes))
    throw new Refusal(`${shown(path)} is not UTF-8 text, and would be damaged by an edit.${BY_SHELL}`);
  return text;
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

export function refuseBinary(start: Buffer, path: string, size: number): void {
  if (start.subarray(0, 8_192).includes(0)) throw new Refusal(`${shown(path)} is a binary file (${sized(size)}).`);
}

export function sized(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
