import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isFolder, nothing, type Part, unreadable } from './files.ts';

/**
 * Skills (a folder each) and custom tools (a file each), which are copied into folders of the same name in FETCH_HOME.
 */

const MOST_FILES = 500;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export function readCopies({ data, home }: { data: string; home: string }): Part {
  const part = nothing();
  for (const [folder, kind, marker] of [
    ['skills', 'skill', 'SKILL.md'],
    ['tools', 'custom tool', null],
  ] as const) {
    if (!isFolder(join(data, folder))) continue;
    for (const name of readdirSync(join(data, folder)).sort()) {
      const source = join(data, folder, name);
      const target = join(home, folder, name);
      const wanted = marker === null ? name.endsWith('.json') : existsSync(join(source, marker));
      if (!wanted) {
        part.left.push({
          what: `${folder}/${name}`,
          why: marker === null ? 'it is no .json file' : `it has no ${marker}`,
        });
        continue;
      }
      const wrong = NAME.test(name)
        ? wrongIn(source)
        : { file: source, text: 'Its name has characters that are not allowed.' };
      if (wrong) part.problems.push({ ...wrong, line: null });
      else if (existsSync(target) && !isSame(source, target))
        part.left.push({ what: `${kind} ${name}`, why: 'there is another one of this name here, which stays' });
      else
        part.found.push({ what: `${kind} ${name}`, here: existsSync(target), take: async () => copy(source, target) });
    }
  }
  return part;
}

/** The files of a folder, or the file itself, relative to it. */
function filesIn(source: string, under = source): string[] {
  if (!lstatSync(under).isDirectory()) return [relative(source, under)];
  return readdirSync(under).flatMap((name) => filesIn(source, join(under, name)));
}

function wrongIn(source: string): { file: string; text: string } | null {
  const files = filesIn(source);
  if (files.length > MOST_FILES) return { file: source, text: `It has more than ${MOST_FILES} files.` };
  for (const name of files) {
    const why = unreadable(join(source, name));
    if (why) return { file: join(source, name), text: `It ${why}.` };
  }
  return null;
}

function isSame(source: string, target: string): boolean {
  const [theirs, ours] = [filesIn(source).sort(), filesIn(target).sort()];
  return (
    theirs.join('\n') === ours.join('\n') &&
    theirs.every((name) => readFileSync(join(source, name)).equals(readFileSync(join(target, name))))
  );
}

/** Whole or not at all: a kill leaves no half of it under its name. */
function copy(source: string, target: string): null {
  const half = `${target}.${process.pid}.new`;
  mkdirSync(join(target, '..'), { recursive: true, mode: 0o700 });
  rmSync(half, { recursive: true, force: true });
  cpSync(source, half, { recursive: true });
  renameSync(half, target);
  return null;
}
