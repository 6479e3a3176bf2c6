import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KEEP = 500;

/** Lines that were typed before, newest first, as readline wants them. A history that cannot be read is no reason to fail. */
export function loadHistory(home: string): string[] {
  const file = join(home, 'chat-history');
  try {
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    if (lines.length > KEEP) {
      writeFileSync(`${file}.${process.pid}`, `${lines.slice(-KEEP).join('\n')}\n`, { mode: 0o600 });
      renameSync(`${file}.${process.pid}`, file);
    }
    return lines.slice(-KEEP).reverse();
  } catch {
    return [];
  }
}

/** Appended line by line, so that two terminals do not overwrite each other's lines. */
export function rememberLine(home: string, line: string): void {
  if (line.trim() === '' || line.includes('\n')) return;
  try {
    appendFileSync(join(home, 'chat-history'), `${line}\n`, { mode: 0o600 });
  } catch {
    // a full disk or a read-only home costs the history, not the chat
  }
}
