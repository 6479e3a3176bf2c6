import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { pastedPath } from '../../../domain/chat/words/bring-in.ts';

/**
 * A message that is a folder, as the words that bring it in: terminals paste the path of a folder that is dragged into
 * them. `open ..` is meant from where the terminal stands, which nobody else knows.
 */
export function asOpened(text: string, isFolder: (path: string) => boolean = exists): string {
  const relative = /^\/?open (\.{1,2}(?:\/.*)?)$/i.exec(text)?.[1];
  const path = relative ? resolve(relative) : pastedPath(text)?.replace(/^~(?=\/)/, homedir());
  return path && isFolder(path) ? `open ${path}` : text;
}

function exists(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
