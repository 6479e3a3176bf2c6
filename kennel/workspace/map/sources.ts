import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { git, type Repository } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { type Language, languageOf } from './languages.ts';

/** A file of the repository that a map may name. */
export interface Source {
  path: string;
  language: Language;
  /** what it imports, as it is written there */
  imports: string[];
}

/** Folders and files that a repository only carries along, or that programs wrote. */
const CARRIED =
  /(?:^|\/)(?:node_modules|vendor|third_party|thirdparty|external|dist|build|out|target|coverage|generated|__generated__|\.[^/]+)\/|\.(?:min|bundle|generated|pb|g)\.[a-z]+$|\.d\.ts$|_pb2?\.|_generated\./;
const MOST_FILES = 20_000;
/** Imports stand at the beginning. */
const HEAD_BYTES = 32 * 1024;
const MOST_IMPORTS = 200;

/** The source files that git knows, with what they import. `found` counts them all. */
export function readSources(repository: Repository): { sources: Source[]; found: number } {
  const paths = git(repository, ['ls-files', '-z', '--cached'])
    .split('\0')
    .map(utf8)
    .filter((path) => isName(path) && !CARRIED.test(path) && languageOf(path) !== null);
  const chunk = Buffer.alloc(HEAD_BYTES);
  const sources = [...new Set(paths)].slice(0, MOST_FILES).flatMap((path) => {
    const language = languageOf(path)!;
    const text = headOf(join(repository.root, path), chunk);
    return text === null ? [] : { path, language, imports: importsIn(text, language) };
  });
  return { sources, found: paths.length };
}

/** A path that can stand in a map: short, without spaces, signs or other scripts. */
const isName = (path: string): boolean => /^[\w.@/+-]{1,120}$/.test(path);

function importsIn(text: string, { imports }: Language): string[] {
  const names = new Set<string>();
  for (const match of text.matchAll(imports)) {
    const name = match[1] ?? match[2];
    // a copy: a part of a string keeps the whole of it in memory
    if (name !== undefined) names.add(Buffer.from(name).toString());
    if (names.size === MOST_IMPORTS) break;
  }
  return [...names];
}

function headOf(file: string, chunk: Buffer): string | null {
  try {
    // a link may lead anywhere in this container, which holds nothing but the workspace
    const descriptor = openSync(file, 'r');
    try {
      return chunk.toString('utf8', 0, readSync(descriptor, chunk));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null;
  }
}
