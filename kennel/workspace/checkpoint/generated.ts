import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { foldersOf } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import { onDisk } from '../git/snapshot.ts';
import { named } from './report.ts';

/** Folders that package managers, interpreters and test runners make. */
const MADE = new Set(
  (
    'node_modules bower_components .venv venv .tox .nox .eggs __pycache__ .pytest_cache .mypy_cache .ruff_cache ' +
    '.hypothesis .gradle .next .nuxt .svelte-kit .turbo .parcel-cache .angular .nyc_output htmlcov .terraform ' +
    '.dart_tool .pnpm-store .bundle .cache DerivedData'
  ).split(' '),
);
/** Files in a folder that say that it is a cache, a virtual environment, or the output of a build. */
const MARKS = ['CACHEDIR.TAG', 'pyvenv.cfg', 'CMakeCache.txt'];
/** Folders that are output where one of these files is beside them. */
const OUTPUT: Record<string, RegExp> = {
  build: /^(package\.json|setup\.py|pyproject\.toml|build\.gradle(\.kts)?|CMakeLists\.txt|meson\.build|pubspec\.yaml)$/,
  dist: /^(package\.json|setup\.py|pyproject\.toml)$/,
  out: /^(package\.json|build\.gradle(\.kts)?)$/,
  coverage: /^(package\.json|pyproject\.toml|setup\.py|Gemfile|composer\.json)$/,
  target: /^(Cargo\.toml|pom\.xml|build\.sbt|project\.clj)$/,
  vendor: /^(composer\.json|Gemfile)$/,
  bin: /\.(cs|fs|vb)proj$/,
  obj: /\.(cs|fs|vb)proj$/,
  _build: /^mix\.exs$/,
  deps: /^mix\.exs$/,
  Pods: /^Podfile$/,
};
const MADE_FILE = /(^|\/)(\.DS_Store|Thumbs\.db|\.coverage|\.eslintcache|[^/]+\.(pyc|pyo|o|obj|class|tsbuildinfo))$/;
/** A program, by its first bytes: ELF, Mach-O, and of Windows. */
const PROGRAM = /^(\x7fELF|\xcf\xfa\xed\xfe|\xce\xfa\xed\xfe|MZ[\s\S]*PE\0\0)/;
/** A new file with bytes that are no text is large above this. */
const BINARY_BYTES = 1024 * 1024;

/**
 * New files that tools made and make again, and large binaries: by path, what they are called in a report. A folder of
 * which the project has files of its own is no such folder. `fresh` and `tracked`: paths as bytes.
 */
export function generatedAmong(
  root: string,
  fresh: Iterable<string>,
  tracked: Iterable<string>,
): ReadonlyMap<string, string> {
  const own = new Set<string>();
  for (const path of tracked) for (const folder of foldersOf(path)) own.add(folder);
  const known = new Map<string, boolean>();
  const isMade = (folder: string): boolean => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const made = !own.has(folder) && isMadeFolder(root, folder);
    known.set(folder, made);
    return made;
  };
  const found = new Map<string, string>();
  for (const path of fresh) {
    const folder = foldersOf(path).find(isMade);
    if (folder !== undefined) found.set(path, `${folder}/`);
    else if (MADE_FILE.test(path) || isLargeOrProgram(root, path)) found.set(path, path);
  }
  return found;
}

/** In a sentence; null when there are none. */
export function generatedNote(generated: ReadonlyMap<string, string>): string | null {
  if (generated.size === 0) return null;
  const counts = new Map<string, number>();
  for (const what of generated.values()) counts.set(what, (counts.get(what) ?? 0) + 1);
  const all = [...counts].map(([what, count]) =>
    what.endsWith('/') ? `${what} (${count} ${count === 1 ? 'file' : 'files'})` : what,
  );
  return `Generated or large, and not committed: ${named(all)}. Lines in .gitignore keep them out of the next look.`;
}

function isMadeFolder(root: string, folder: string): boolean {
  const slash = folder.lastIndexOf('/');
  const name = folder.slice(slash + 1);
  if (MADE.has(name) || name.endsWith('.egg-info')) return true;
  if (MARKS.some((mark) => existsSync(Buffer.concat([onDisk(root, folder), Buffer.from(`/${mark}`)])))) return true;
  const beside = Object.hasOwn(OUTPUT, name) ? OUTPUT[name] : undefined;
  return (
    beside !== undefined && namesIn(root, slash < 0 ? '' : folder.slice(0, slash)).some((each) => beside.test(each))
  );
}

function namesIn(root: string, folder: string): string[] {
  try {
    return readdirSync(folder === '' ? root : join(root, utf8(folder)));
  } catch {
    return [];
  }
}

function isLargeOrProgram(root: string, path: string): boolean {
  let file: number;
  try {
    file = openSync(onDisk(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return false;
    const bytes = Buffer.alloc(8_000);
    const start = bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0));
    return PROGRAM.test(start) || (stats.size > BINARY_BYTES && start.includes('\0'));
  } finally {
    closeSync(file);
  }
}
