import { join } from 'node:path';
import { argument, content, git, type Repository, tryGit } from './git.ts';
import { readIndex } from './snapshot.ts';
import { type Entry, isFile } from './trees.ts';

/**
 * Contents as they are committed, with the line endings and encodings that `.gitattributes` and `core.autocrlf` ask
 * for. A file with a filter (for example git-lfs) is not converted, because that would run the filter. It is listed in
 * `filtered` and left to the person.
 */
export interface Converter {
  convert: (path: string, entry: Entry) => Entry | 'skip';
  filtered: Set<string>;
}

const CONVERTED_BYTES = 50 * 1024 * 1024;

export function converter(repository: Repository, paths: string[]): Converter {
  const filtered = new Set<string>();
  const converted = new Set<string>();
  const autocrlf = tryGit(repository, ['config', '--get', 'core.autocrlf']).stdout.trim().toLowerCase();
  const everywhere = autocrlf === 'true' || autocrlf === 'input';
  const { entries } = readIndex(repository);
  for (const [path, attributes] of attributesOf(repository, paths)) {
    const isSet = (name: string) => !['unspecified', 'unset', undefined].includes(attributes[name]);
    if (isSet('filter')) filtered.add(path);
    else if (['eol', 'crlf', 'ident', 'working-tree-encoding'].some(isSet)) converted.add(path);
    else if (attributes.text === 'set') converted.add(path);
    else if (isSet('text') || (everywhere && attributes.text === 'unspecified')) {
      // where git decides by itself, a file that was committed with CRLF keeps it
      const known = entries.get(path);
      if (!known || !isFile(known) || !hasCrlf(repository, known.oid)) converted.add(path);
    }
  }
  const known = new Map<string, Entry>();
  const convert = (path: string, entry: Entry): Entry | 'skip' => {
    if (filtered.has(path)) return 'skip';
    const name = argument(path);
    if (!isFile(entry) || !converted.has(path) || name === null) return entry;
    const key = `${entry.mode} ${entry.oid} ${path}`;
    const before = known.get(key);
    if (before) return before;
    const result = { ...entry, oid: cleaned(repository, name, entry.oid) };
    known.set(key, result);
    return result;
  };
  return { convert, filtered };
}

const ATTRIBUTES = ['text', 'eol', 'crlf', 'ident', 'working-tree-encoding', 'filter'];

function attributesOf(repository: Repository, paths: string[]): Map<string, Record<string, string>> {
  const found = new Map<string, Record<string, string>>();
  if (paths.length === 0) return found;
  const input = paths.map((path) => `${path}\0`).join('');
  const fields = git(repository, ['check-attr', '-z', '--stdin', ...ATTRIBUTES], { input }).split('\0');
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [path, name, value] = fields.slice(index, index + 3) as [string, string, string];
    found.set(path, { ...found.get(path), [name]: value });
  }
  return found;
}

const hasCrlf = (repository: Repository, oid: string): boolean =>
  Number(content(repository, ['cat-file', '-s', oid])) <= CONVERTED_BYTES &&
  content(repository, ['cat-file', 'blob', oid]).includes('\r\n');

function cleaned(repository: Repository, path: string, oid: string): string {
  if (Number(content(repository, ['cat-file', '-s', oid])) > CONVERTED_BYTES) return oid;
  const raw = content(repository, ['cat-file', 'blob', oid]);
  // by the settings of the repository, but into the objects that merges read
  const objects = join(repository.store ?? repository.commonDir, 'objects');
  const hashed = tryGit(repository, ['hash-object', '-w', '--stdin', `--path=${path}`], {
    input: raw,
    env: { GIT_OBJECT_DIRECTORY: objects },
  });
  // a content that does not have its declared encoding is committed unchanged
  return hashed.code === 0 ? hashed.stdout.trim() : oid;
}
