import { createHash } from 'node:crypto';
import { posix, relative } from 'node:path';
import dockerignore from '@balena/dockerignore';
import { BUILD_FOLDER, type CopiedContent, type CopiedFile } from '../../../src/contracts/environment.ts';
import { existing, lstatOrNull } from '../files/paths.ts';
import { readBytes, readText, sized } from '../files/text.ts';
import { GitFailed, git } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { openRepository, type Place } from '../git/repository.ts';
import { Refusal } from '../refusal.ts';

/**
 * All that one Dockerfile may copy. It travels as one answer of this program, and the host looks at the dates of each
 * file before every command.
 */
export const MOST = { files: 2_000, bytes: 32 * 1024 * 1024, watched: 5_000 } as const;
const IGNORE_FILE = '.dockerignore';
const IGNORE_BYTES = 64 * 1024;
const REMEDY = `A Dockerfile may copy ${MOST.files} files of together ${sized(MOST.bytes)}. Name the files that it needs, or list the others in ${IGNORE_FILE}.`;

/**
 * The files of a repository that an image may be built from: those that git knows, or would take, and that
 * `.dockerignore` does not leave out.
 */
export class BuildFiles {
  private readonly root: string;
  private readonly folder: string;
  /** relative to the root */
  private readonly known: ReadonlySet<string>;
  /** relative to the folder */
  private readonly offered: string[];
  private readonly taken = new Map<string, CopiedFile>();
  /** a file that is missing today may be there tomorrow */
  private readonly sought = new Set<string>();
  private bytes = 0;

  /** `folder`: what the paths of a Dockerfile begin at, inside of the repository. @throws Refusal */
  constructor(place: Place, folder: string) {
    this.root = place.root;
    this.folder = folder;
    this.known = knownTo(place);
    const wanted = ignoring(place.root, posix.join(folder, IGNORE_FILE));
    this.offered = [...this.known]
      .map((path) => posix.relative(folder, path))
      .filter(
        (path) =>
          !path.startsWith('../') &&
          path !== IGNORE_FILE &&
          path.split('/')[0] !== BUILD_FOLDER &&
          isName(path) &&
          wanted(path),
      )
      .sort();
  }

  /** All files that were taken, in the order of their names. */
  get copied(): CopiedFile[] {
    return [...this.taken.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /**
   * What must be looked at to see that a copy would be another one: the files, their folders, and what decides about
   * new ones.
   */
  get watched(): string[] {
    const paths = [IGNORE_FILE, '.gitignore', ...this.sought, ...this.taken.keys()].map((path) =>
      posix.join(this.folder, path),
    );
    return [...new Set(paths.flatMap((path) => [path, posix.dirname(path)]))].slice(0, MOST.watched);
  }

  /** Takes what a path or a pattern names. @throws Refusal */
  take(source: string): void {
    this.sought.add(withoutPattern(source));
    const found = this.offered.filter((path) => names(source, path) && !this.isSubmodule(path));
    if (found.length === 0)
      throw new Refusal(
        `No file of the repository is meant by this: git does not know it, or ${IGNORE_FILE} leaves it out.`,
      );
    for (const path of found) {
      if (this.taken.has(path)) continue;
      if (this.taken.size >= MOST.files) throw new Refusal(`It would copy too many files. ${REMEDY}`);
      const { content, executable } = this.read(path);
      this.bytes += content.length;
      this.taken.set(path, {
        path,
        executable,
        bytes: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
      });
    }
  }

  /** Files that were taken, with what is in them. @throws Refusal */
  contents(): CopiedContent[] {
    this.bytes = 0;
    return this.copied.map(({ path }) => {
      const { content, executable } = this.read(path);
      this.bytes += content.length;
      return { path, executable, base64: content.toString('base64') };
    });
  }

  /** A link counts as the file that it leads to, when git knows that one as well: an ignored file may be a secret. */
  private read(path: string): { content: Buffer; executable: boolean } {
    const { absolute, stats } = existing(this.root, posix.join(this.folder, path));
    if (!this.known.has(relative(this.root, absolute)))
      throw new Refusal(`${path} is a symbolic link to something that git does not know.`);
    if (this.bytes + stats.size > MOST.bytes) throw new Refusal(`It would copy too much. ${REMEDY}`);
    return { content: readBytes(absolute, path, MOST.bytes - this.bytes, ''), executable: (stats.mode & 0o100) !== 0 };
  }

  private isSubmodule(path: string): boolean {
    return lstatOrNull(posix.join(this.root, this.folder, path))?.isDirectory() ?? true;
  }
}

function knownTo(place: Place): ReadonlySet<string> {
  const repository = openRepository(place);
  if (!repository) throw new Refusal('Only files that git knows can be copied, and this is no git repository.');
  try {
    const listed = git(repository, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
    return new Set(listed.split('\0').filter(Boolean).map(utf8));
  } catch (error) {
    if (error instanceof GitFailed) throw new Refusal(`git cannot list the files of the repository: ${error.message}`);
    throw error;
  }
}

/** Whether a path is left in by the patterns of a file. */
function ignoring(root: string, file: string): (path: string) => boolean {
  if (!lstatOrNull(posix.join(root, file))) return () => true;
  const text = readText(existing(root, file).absolute, file, IGNORE_BYTES);
  try {
    const leftIn = dockerignore.default({ ignorecase: false }).add(text).createFilter();
    leftIn('x');
    return leftIn;
  } catch {
    throw new Refusal(`${file} has a pattern that cannot be read.`);
  }
}

/** A name that every system of files can have. */
const isName = (path: string): boolean => path !== '' && path.length < 1_000 && !path.includes('\ufffd');

/** The folder where the names of a pattern begin; a plain path as it is. */
function withoutPattern(source: string): string {
  const parts = source.split('/');
  const first = parts.findIndex((part) => /[*?]/.test(part));
  return first < 0 ? source : parts.slice(0, first).join('/') || '.';
}

/** Whether a source names a file: the file itself, a folder above it, or a pattern for one of them. */
function names(source: string, path: string): boolean {
  if (source === '.') return true;
  const parts = path.split('/');
  const wanted = source.split('/');
  return wanted.length <= parts.length && wanted.every((pattern, at) => fits(pattern, parts[at]!));
}

/** `*` and `?`, without a regular expression: a pattern of a stranger could make that run for hours. */
function fits(pattern: string, name: string): boolean {
  let star = -1;
  let from = 0;
  let at = 0;
  for (let here = 0; here < name.length; ) {
    if (pattern[at] === '*') {
      star = at;
      at += 1;
      from = here;
    } else if (pattern[at] === '?' || pattern[at] === name[here]) {
      at += 1;
      here += 1;
    } else if (star >= 0) {
      at = star + 1;
      from += 1;
      here = from;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(at));
}
