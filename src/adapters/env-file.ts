import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Puts settings into FETCH_HOME/.env, or takes them out (`undefined`). What else is there stays as it is. Returns what
 * brings the file of before back. Throws when the file cannot be written.
 */
export function keepSettings(home: string, values: Record<string, string | undefined>): () => void {
  const file = join(home, '.env');
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  writeAtomically(file, mergeEnv(before, values));
  return () => writeAtomically(file, before);
}

/**
 * The text of a `.env` file with these values: what is there keeps its place, comments and unknown lines stay as they
 * are, new names come last, and `undefined` removes one. Throws when a value cannot be written to such a file.
 */
export function mergeEnv(before: string, values: Record<string, string | undefined>): string {
  const left = new Map(Object.entries(values));
  const eol = before.includes('\r\n') ? '\r\n' : '\n';
  // an assignment as dotenv reads it: quoted values may span lines, so lines alone would not do
  const assignment =
    /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:'(?:\\'|[^'])*'|"(?:\\"|[^"])*"|`(?:\\`|[^`])*`|[^#\r\n]*)([^\r\n]*)(?:\r?\n|$)/gm;
  let merged = before.replace(assignment, (line, name: string, after: string) => {
    if (!Object.hasOwn(values, name)) return line;
    const value = left.get(name);
    // a name that stands there twice keeps its first place only: readers take the last
    left.delete(name);
    return value === undefined
      ? ''
      : `${name}=${quote(name, value)}${after.trimStart().startsWith('#') ? ` ${after.trim()}` : ''}${eol}`;
  });
  const added = [...left].filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (added.length > 0 && merged !== '' && !merged.endsWith('\n')) merged += eol;
  return merged + added.map(([name, value]) => `${name}=${quote(name, value)}${eol}`).join('');
}

function quote(name: string, value: string): string {
  if (/^[\w./:@+,=-]+$/.test(value) || value === '') return value;
  if (/[\r\n\0]/.test(value)) throw new Error(`${name} may not contain a line break.`);
  for (const mark of ["'", '`', '"']) {
    // inside double quotes dotenv turns \n into a line break
    if (!value.includes(mark) && !value.endsWith('\\') && !(mark === '"' && value.includes('\\')))
      return mark + value + mark;
  }
  throw new Error(`${name} has a combination of quotes that an .env file cannot hold.`);
}

/** A reader never sees half a file, and the keys in it are never readable for others, not even for a moment. */
function writeAtomically(file: string, content: string): void {
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.new`;
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, content, { mode: 0o600, flag: 'wx' });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new Error(`${file} cannot be written: ${(error as Error).message}`);
  }
}
