import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KEEP = 500;

/** A message of several lines is one line of the file. */
const LINE_SEPARATOR = '\u2028';
/** A longer text was pasted, and nobody recalls it. */
const LONGEST = 4_000;

/** Typed messages, newest first. Empty when the history cannot be read. */
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
    return lines
      .slice(-KEEP)
      .reverse()
      .map((line) => line.replaceAll(LINE_SEPARATOR, '\n'));
  } catch {
    return [];
  }
}

/** Appended, so that two terminals do not overwrite each other's messages. */
export function rememberMessage(home: string, text: string): void {
  if (text.trim() === '' || text.length > LONGEST) return;
  const line = text.replaceAll('\n', LINE_SEPARATOR);
  try {
    appendFileSync(join(home, 'chat-history'), `${line}\n`, { mode: 0o600 });
  } catch {
    // a full disk or a read-only home costs only the history
  }
}
