import type { ConcludedChanges } from '../../../src/contracts/workspace-ops.ts';
import { shown } from '../files/names.ts';
import { content, type Repository } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { LIMITS } from '../limits.ts';

export type Files = Pick<ConcludedChanges, 'files' | 'filesChanged' | 'added' | 'removed'>;

const STATUS = { A: 'added', M: 'modified', T: 'modified', D: 'deleted', R: 'renamed', C: 'added' } as const;

/** The differences between two trees, with renames; binary files have no line counts. */
export function changedFiles(repository: Repository, from: string, to: string): Files {
  if (from === to) return { files: [], added: 0, removed: 0 };
  const diff = (format: string) =>
    content(repository, [
      'diff-tree',
      '-r',
      '-z',
      '-M',
      '-l2000',
      '--no-ext-diff',
      '--no-textconv',
      format,
      from,
      to,
    ]).split('\0');
  const lines = new Map<string, { added: number; removed: number }>();
  const counts = diff('--numstat');
  let added = 0;
  let removed = 0;
  for (let index = 0; index < counts.length; index += 1) {
    // a path may have tabs as well
    const [, plus, minus, path] = /^([^\t]*)\t([^\t]*)\t([\s\S]*)$/.exec(counts[index]!) ?? [];
    if (minus === undefined) continue;
    const count = { added: Number(plus) || 0, removed: Number(minus) || 0 };
    added += count.added;
    removed += count.removed;
    // a rename has an empty path here; the old and the new path follow
    if (path === '') index += 2;
    lines.set(path === '' ? counts[index]! : path!, count);
  }
  const files: ConcludedChanges['files'] = [];
  const statuses = diff('--name-status');
  let total = 0;
  for (let index = 0; index + 1 < statuses.length; index += 2) {
    const status = STATUS[statuses[index]![0] as keyof typeof STATUS] ?? 'modified';
    const from = status === 'renamed' || statuses[index]![0] === 'C' ? statuses[++index] : undefined;
    const path = statuses[index + 1]!;
    total += 1;
    if (files.length < LIMITS.listedFiles) {
      files.push({
        path: shown(utf8(path)),
        status,
        ...(lines.get(path) ?? { added: 0, removed: 0 }),
        ...(status === 'renamed' && from ? { from: shown(utf8(from)) } : {}),
      });
    }
  }
  return { files, ...(total > files.length ? { filesChanged: total } : {}), added, removed };
}

/** "3 files (+10 −2)" */
export function counted(files: Files): string {
  const total = files.filesChanged ?? files.files.length;
  return `${total} ${total === 1 ? 'file' : 'files'} (+${files.added} −${files.removed})`;
}

const SUBJECT_CHARS = 72;
const VERBS = [
  ['added', 'Add'],
  ['modified', 'Update'],
  ['renamed', 'Rename'],
  ['deleted', 'Remove'],
] as const;

/** The subject of a commit: "Add a.ts, update b.ts and c.ts". Names are left out where there are too many. */
export function summary(files: Files): string {
  if (files.filesChanged) return `Change ${files.filesChanged} files`;
  const groups = VERBS.flatMap(([status, verb]) => {
    const of = files.files.filter((file) => file.status === status);
    return of.length > 0 ? [{ verb, paths: of.map(({ path, from }) => (from ? `${from} to ${path}` : path)) }] : [];
  });
  const words = (most: number): string =>
    groups.map(({ verb, paths }, at) => `${at === 0 ? verb : verb.toLowerCase()} ${listed(paths, most)}`).join(', ');
  return [3, 1].map(words).find((text) => text.length <= SUBJECT_CHARS) ?? words(0);
}

function listed(paths: string[], most: number): string {
  if (paths.length > most) return paths.length === 1 ? '1 file' : `${paths.length} files`;
  return paths.length === 1 ? paths[0]! : `${paths.slice(0, -1).join(', ')} and ${paths.at(-1)}`;
}

/** Names for a sentence; only the first when there are many. */
export function named(paths: string[], most = 10): string {
  const names = paths.slice(0, most).map((path) => shown(utf8(path)));
  return names.join(', ') + (paths.length > most ? ` and ${paths.length - most} more` : '');
}
