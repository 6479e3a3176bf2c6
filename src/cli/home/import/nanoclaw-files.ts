import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { claimImport } from '../../../store/home/imports.ts';
import { type Found, nothing, type Part } from './files.ts';
import { outside } from './nanoclaw-data.ts';
import { counted } from './sessions.ts';

/**
 * Folders of groups (`CLAUDE.md`, `conversations/`, what the agents made) and conversations of their agents. They are
 * copied to `FETCH_HOME/nanoclaw`.
 */

const MOST_FILES = 10_000;
const MOST_BYTES = 1024 ** 3;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Made again by a command, or of no use here. */
const NOT_COPIED = new Set(['node_modules', 'logs']);

interface Reading {
  root: string;
  home: string;
  done: ReadonlySet<string>;
}

const keptFolder = (home: string): string => join(home, 'nanoclaw');

export function readFolders(reading: Reading): Part {
  const part = nothing();
  for (const folder of foldersIn(reading, part, 'groups'))
    readFolder(reading, part, `groups/${folder}`, `groups/${folder}`, `folder groups/${folder}`);
  for (const folder of foldersIn(reading, part, 'data/sessions')) {
    const projects = `data/sessions/${folder}/.claude/projects`;
    for (const project of foldersIn(reading, part, projects, /^[\w-]{1,200}$/))
      readFolder(
        reading,
        part,
        `${projects}/${project}`,
        `sessions/${folder}/${project}`,
        `conversations of the agent of ${folder}`,
      );
  }
  return part;
}

/** Folders in a folder; what is neither one nor a file is told. */
function foldersIn({ root }: Reading, part: Part, path: string, name = NAME): string[] {
  const folder = join(root, path);
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink())
    part.problems.push({ file: folder, line: null, text: 'It is a link, which is not followed.' });
  if (!stat?.isDirectory()) return [];
  return attempt(part, folder, [], () =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => {
        const wanted = entry.isDirectory() && name.test(entry.name);
        if (!wanted && !entry.isFile())
          part.left.push({ what: `${path}/${entry.name}`, why: 'it is a link, or its name is none of a group' });
        return wanted;
      })
      .map((entry) => entry.name)
      .sort(),
  );
}

/** Containers leave files that their owner may not read. */
function attempt<T>(part: Part, file: string, otherwise: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    part.problems.push({ file, line: null, text: `It cannot be read: ${(error as Error).message}.` });
    return otherwise;
  }
}

function readFolder({ root, home, done }: Reading, part: Part, from: string, to: string, what: string): void {
  const source = join(root, from);
  const target = join(keptFolder(home), to);
  const why = outside(root, source);
  if (why) {
    part.problems.push({ file: source, line: null, text: `It ${why}.` });
    return;
  }
  const { files, bytes, links } = attempt(part, source, { files: [], bytes: 0, links: 0 }, () => plainFiles(source));
  if (files.length > MOST_FILES || bytes > MOST_BYTES) {
    const text = `It has more than ${MOST_FILES} files or ${MOST_BYTES / 1024 ** 3} GB: copy what you need from it.`;
    part.problems.push({ file: source, line: null, text });
    return;
  }
  if (links > 0)
    part.left.push({ what: `${counted(links, 'link')} in ${from}`, why: 'a link may lead out of the folder' });
  if (files.length === 0) return;
  part.found.push({
    what: `${what}: ${counted(files.length, 'file')}, copied to ${target}`,
    here: done.has(source),
    take: async ({ db }) => {
      if (existsSync(target)) return 'there is such a folder here, which stays';
      try {
        whole(target, (half) => {
          for (const file of files) {
            mkdirSync(dirname(join(half, file)), { recursive: true, mode: 0o700 });
            copyFileSync(join(source, file), join(half, file));
          }
        });
      } catch (error) {
        return `it cannot be copied: ${(error as Error).message}`;
      }
      await claimImport(db, 'folder', source);
      return null;
    },
  });
}

/** Names below a folder; no link is followed. */
function plainFiles(source: string): { files: string[]; bytes: number; links: number } {
  const found = { files: [] as string[], bytes: 0, links: 0 };
  const folders = [source];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const stat = lstatSync(path);
      if (stat.isSymbolicLink()) found.links += 1;
      else if (stat.isDirectory()) {
        if (!NOT_COPIED.has(name)) folders.push(path);
      } else if (stat.isFile()) {
        found.files.push(relative(source, path));
        found.bytes += stat.size;
      }
      if (found.files.length > MOST_FILES || folders.length > MOST_FILES) return found;
    }
  return found;
}

/** Data without a place in the database, as one readable file. */
export const recordsFile = ({ root, home, done }: Reading, records: object, what: string): Found => {
  const [source, target] = [join(root, 'records.json'), join(keptFolder(home), 'records.json')];
  return {
    what: `${what}, kept in ${target}`,
    here: done.has(source),
    take: async ({ db }) => {
      if (existsSync(target)) return 'there is such a file here, which stays';
      whole(target, (half) => writeFileSync(half, `${JSON.stringify(records, null, 2)}\n`, { mode: 0o600 }));
      await claimImport(db, 'folder', source);
      return null;
    },
  };
};

/** A kill leaves no half of it under its name. */
function whole(target: string, make: (half: string) => void): void {
  const half = `${target}.${process.pid}.new`;
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  try {
    make(half);
    renameSync(half, target);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}
