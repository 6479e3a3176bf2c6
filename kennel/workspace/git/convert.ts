import { argument, content, git, type Repository, tryGit } from './git.ts';
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
  const input = paths.map((path) => `${path}\0`).join('');
  const fields =
    paths.length > 0
      ? git(
          repository,
          ['check-attr', '-z', '--stdin', 'text', 'eol', 'crlf', 'ident', 'working-tree-encoding', 'filter'],
          { input },
        ).split('\0')
      : [];
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [path, name, value] = fields.slice(index, index + 3) as [string, string, string];
    const set = value !== 'unspecified' && value !== 'unset';
    if (name === 'filter' && set) filtered.add(path);
    else if (set || (everywhere && name === 'text' && value === 'unspecified')) converted.add(path);
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

function cleaned(repository: Repository, path: string, oid: string): string {
  if (Number(content(repository, ['cat-file', '-s', oid])) > CONVERTED_BYTES) return oid;
  const raw = content(repository, ['cat-file', 'blob', oid]);
  const hashed = tryGit(repository, ['hash-object', '-w', '--stdin', `--path=${path}`], { input: raw });
  // a content that does not have its declared encoding is committed unchanged
  return hashed.code === 0 ? hashed.stdout.trim() : oid;
}
