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
import { type Found, isFolder, nothing, type Part } from './files.ts';
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

export const keptFolder = (home: string): string => join(home, 'nanoclaw');

export function readFolders(reading: Reading): Part {
  const part = nothing();
  for (const folder of foldersIn(join(reading.root, 'groups')))
    readFolder(reading, part, `groups/${folder}`, `groups/${folder}`, `folder groups/${folder}`);
  for (const folder of foldersIn(join(reading.root, 'data/sessions')))
    for (const project of foldersIn(
      join(reading.root, 'data/sessions', folder, '.claude/projects'),
      /^[\w-]{1,200}$/,
    )) {
      const source = `data/sessions/${folder}/.claude/projects/${project}`;
      readFolder(reading, part, source, `sessions/${folder}/${project}`, `conversations of the agent of ${folder}`);
    }
  return part;
}

const foldersIn = (folder: string, name = NAME): string[] =>
  isFolder(folder)
    ? readdirSync(folder)
        .filter((each) => name.test(each) && isFolder(join(folder, each)))
        .sort()
    : [];

function readFolder({ root, home, done }: Reading, part: Part, from: string, to: string, what: string): void {
  const source = join(root, from);
  const [target, why] = [join(keptFolder(home), to), outside(root, source)];
  if (why) {
    part.problems.push({ file: source, line: null, text: `It ${why}.` });
    return;
  }
  const { files, bytes, links } = plainFiles(source);
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
      whole(target, (half) => {
        for (const file of files) {
          mkdirSync(dirname(join(half, file)), { recursive: true, mode: 0o700 });
          copyFileSync(join(source, file), join(half, file));
        }
      });
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

/** What has no place in the database, as one readable file. */
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
  rmSync(half, { recursive: true, force: true });
  make(half);
  renameSync(half, target);
}
