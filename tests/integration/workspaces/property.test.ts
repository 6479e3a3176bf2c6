import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { holds, PROPERTY_MS } from '../../support/property.ts';
import { Workspace } from './program.ts';

const PATHS = ['a.txt', 'b.txt', 'd', 'd/x.txt', 'd/e/y.txt', 'new.txt', 'ü n\ni.txt', '.gitignore'];

interface Edit {
  path: string;
  kind: 'write' | 'delete' | 'append' | 'prepend' | 'binary' | 'run' | 'link';
  stage: boolean;
}
const edits = (max: number): fc.Arbitrary<Edit[]> =>
  fc.array(
    fc.record({
      path: fc.constantFrom(...PATHS),
      kind: fc.constantFrom<Edit['kind']>(
        'write',
        'write',
        'append',
        'append',
        'prepend',
        'prepend',
        'delete',
        'binary',
        'run',
        'link',
      ),
      stage: fc.boolean(),
    }),
    { maxLength: max },
  );

/** Carries edits out; each line that is written exists once. Returns the lines by path that this author added. */
function carryOut(w: Workspace, who: string, all: Edit[]): void {
  for (const [number, { path, kind, stage }] of all.entries()) {
    const at = join(w.root, path);
    const line = `${path === '.gitignore' ? '#' : ''}${who} ${number}\n`;
    const stats = lstatOf(at);
    const text = stats?.isFile() ? w.read(path) : '';
    for (let folder = dirname(at); folder !== w.root; folder = dirname(folder))
      if (lstatOf(folder) && !lstatOf(folder)!.isDirectory()) rmSync(folder);
    if (stats && (stats.isDirectory() || kind === 'delete' || kind === 'link' || stats.isSymbolicLink()))
      rmSync(at, { recursive: true, force: true });
    if (kind !== 'delete') mkdirSync(dirname(at), { recursive: true });
    if (kind === 'write') writeFileSync(at, `${line}a\nb\nc\nd\ne\nf\ng\n`);
    if (kind === 'append') writeFileSync(at, text + line);
    if (kind === 'prepend') writeFileSync(at, line + text);
    if (kind === 'binary') writeFileSync(at, Buffer.from([0, 255, 13, 10, number]));
    if (kind === 'link') symlinkSync(`${who}-${number}`, at);
    if (kind === 'run') {
      writeFileSync(at, text);
      chmodSync(at, 0o755);
    }
    if (stage) w.git('add', '-A', '--', '.');
  }
}

function lstatOf(path: string) {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

type State = ReturnType<Workspace['state']>;

/**
 * Files that are new and ignored by the rules of this moment: those do not belong to the task, because what a person
 * runs beside it makes such files, too.
 */
function newIgnored(w: Workspace, start: State): string[] {
  const isIgnored = (path: string): boolean => {
    try {
      w.git('check-ignore', '-q', '--no-index', '--', Buffer.from(path, 'latin1').toString());
      return true;
    } catch {
      return false;
    }
  };
  return Object.keys(w.files()).filter((path) => !(path in start.files) && isIgnored(path));
}

/** The state as it is without some files. */
function stateWithout(w: Workspace, paths: string[]): State {
  const away = join(w.base, 'away');
  const there = [...new Set(paths)]
    .map((path) => join(w.root, Buffer.from(path, 'latin1').toString()))
    .filter((path) => lstatOf(path));
  mkdirSync(away);
  for (const [index, path] of there.entries()) renameSync(path, join(away, String(index)));
  const state = w.state();
  for (const [index, path] of there.entries()) renameSync(join(away, String(index)), path);
  rmSync(away, { recursive: true });
  return state;
}

/** A file cannot come back where a file that may be the person's needs a folder, or stands where a folder was. */
const withoutPlacesTaken = (start: State, left: string[]): State => ({
  ...start,
  files: Object.fromEntries(
    Object.entries(start.files).filter(
      ([path]) => !left.some((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`)),
    ),
  ),
});

interface Scenario {
  committed: Edit[];
  before: Edit[];
  task: Edit[];
  commits: boolean;
  after: Edit[];
}

test('over random edits of person and task, no byte of the person is lost by conclude, undo and redo', {
  timeout: PROPERTY_MS,
}, () => {
  const scenario: fc.Arbitrary<Scenario> = fc.record({
    committed: edits(5),
    before: edits(5),
    task: edits(5),
    commits: fc.boolean(),
    after: fc.oneof(fc.constant<Edit[]>([]), edits(3)),
  });
  const outcomes = { committed: 0, kept: 0, undone: 0, refused: 0 };
  holds(
    fc.property(scenario, ({ committed, before, task, commits, after }) => {
      const w = Workspace.repository({ 'a.txt': 'a\nb\nc\nd\ne\nf\ng\n', '.gitignore': 'ignored.log\n' });
      try {
        carryOut(w, 'first', committed);
        w.git('add', '-A');
        w.git('commit', '-q', '--allow-empty', '-m', 'Second');
        w.write({ 'ignored.log': 'ignored\n' });
        carryOut(
          w,
          'person',
          before.filter(({ path }) => path !== '.gitignore'),
        );
        const start = w.state();
        w.checkpoint('t1');
        expect(w.state()).toEqual(start);

        carryOut(
          w,
          'task',
          task.map((edit) => ({ ...edit, stage: edit.stage && commits })),
        );
        if (commits) w.git('commit', '-q', '--allow-empty', '-m', 'By the agent');
        const worked = w.state();
        const changes = w.conclude('t1');
        const concluded = w.state();
        outcomes[changes.commit ? 'committed' : 'kept'] += 1;
        expect(concluded.files).toEqual(worked.files);
        if (!commits) {
          const touched = new Set(
            [...Object.keys(start.files), ...Object.keys(worked.files)].filter(
              (path) => start.files[path] !== worked.files[path],
            ),
          );
          const untouched = (index: string) => index.split('\n').filter((line) => !touched.has(nameOf(line)));
          expect(untouched(concluded.index)).toEqual(untouched(start.index));
          for (const path of changes.commit
            ? w.git('-c', 'core.quotePath=false', 'diff', '--name-only', '-z', start.head, changes.commit).split('\0')
            : []) {
            if (path !== '') expect(touched).toContain(Buffer.from(path).toString('latin1'));
          }
        }

        carryOut(
          w,
          'later',
          after.map((edit) => ({ ...edit, stage: false })),
        );
        const now = w.state();
        // by rules of the task, too: docs/reliability.md
        const ignoredThen = newIgnored(w, start);
        const undone = w.undo();
        outcomes[undone.ok ? 'undone' : 'refused'] += 1;
        if (!undone.ok) {
          if (after.length === 0) {
            expect(withoutPlacesTaken(start, ignoredThen)).not.toEqual(start);
            expect(undone.output).toContain(
              'is in the way, which git does not look at. Nothing was changed: move it away',
            );
          }
          expect(w.state()).toEqual(now);
          return;
        }
        if (after.length === 0) {
          const left = [...ignoredThen, ...newIgnored(w, start)];
          expect(stateWithout(w, left)).toEqual(withoutPlacesTaken(start, left));
        }
        const back = w.files();
        for (const path of new Set([...Object.keys(now.files), ...Object.keys(concluded.files)])) {
          if (now.files[path] === concluded.files[path]) continue;
          // the person touched it after the task: as it is, or merged with each of their lines in it
          if (start.files[path] === concluded.files[path]) expect(back[path]).toBe(now.files[path]);
          else
            for (const line of (now.files[path] ?? '').split('\n').filter((text) => text.includes('later')))
              expect(back[path]).toContain(line);
        }
        expect(w.undo('redo').ok).toBe(true);
        expect(w.state()).toEqual(now);
      } finally {
        w.remove();
      }
    }),
    {
      runs: 12,
      soak: 1_000,
      examples: [
        // the task makes a file that rules of its own ignore
        [
          {
            committed: [],
            before: [],
            task: [
              { path: '.gitignore', kind: 'write', stage: false },
              { path: 'd/x.txt', kind: 'write', stage: false },
            ],
            commits: false,
            after: [],
          },
        ],
        // the task stops ignoring what the person had ignored, and commits it
        [
          {
            committed: [],
            before: [],
            task: [
              { path: '.gitignore', kind: 'write', stage: false },
              { path: 'a.txt', kind: 'write', stage: true },
            ],
            commits: true,
            after: [],
          },
        ],
        // the task makes a folder of a file, and the person leaves an empty folder in it, or a file of theirs
        ...[['write', 'delete'] as const, ['write'] as const].map((kinds): [Scenario] => [
          {
            committed: [{ path: 'd', kind: 'write', stage: false }],
            before: [],
            task: [{ path: 'd/x.txt', kind: 'write', stage: false }],
            commits: false,
            after: kinds.map((kind) => ({ path: 'd/e/y.txt', kind, stage: false })),
          },
        ]),
        // the task makes a folder of a file, and the person's rules ignore what it puts into that
        [
          {
            committed: [
              { path: 'd', kind: 'write', stage: false },
              { path: '.gitignore', kind: 'write', stage: false },
            ],
            before: [],
            task: [{ path: 'd/x.txt', kind: 'write', stage: false }],
            commits: false,
            after: [],
          },
        ],
        // the task makes a file of a folder, and the person's rules ignore both
        [
          {
            committed: [
              { path: '.gitignore', kind: 'write', stage: false },
              { path: 'd/x.txt', kind: 'write', stage: false },
            ],
            before: [],
            task: [{ path: 'd', kind: 'write', stage: false }],
            commits: false,
            after: [],
          },
        ],
        // the task makes a file of the person's folder, or a folder of their file, and ignores it by rules of its own
        ...[['d/e/y.txt', 'd'] as const, ['d', 'd/x.txt'] as const].map(([mine, theirs]): [Scenario] => [
          {
            committed: [],
            before: [{ path: mine, kind: 'write', stage: false }],
            task: [
              { path: '.gitignore', kind: 'write', stage: false },
              { path: theirs, kind: 'write', stage: false },
            ],
            commits: false,
            after: [],
          },
        ]),
        // the task stops ignoring a folder of the person, and makes a file of it: the ignored file goes again before a
        // redo
        [
          {
            committed: [
              { path: 'd/x.txt', kind: 'append', stage: false },
              { path: '.gitignore', kind: 'write', stage: true },
            ],
            before: [],
            task: [
              { path: '.gitignore', kind: 'binary', stage: false },
              { path: 'd', kind: 'prepend', stage: true },
            ],
            commits: true,
            after: [],
          },
        ],
        // the task makes a file that the person's rules ignore
        [
          {
            committed: [{ path: '.gitignore', kind: 'write', stage: false }],
            before: [],
            task: [{ path: 'd/x.txt', kind: 'write', stage: false }],
            commits: false,
            after: [],
          },
        ],
      ],
    },
  );
  console.log(outcomes);
});

/** The path of a line of `ls-files -s`, as `files` names it. */
function nameOf(line: string): string {
  const name = line.slice(line.indexOf('\t') + 1);
  return name.startsWith('"')
    ? Buffer.from(
        JSON.parse(name.replace(/\\(\d{3})/g, (_, octal: string) => `\\u00${Number.parseInt(octal, 8).toString(16)}`)),
        'latin1',
      ).toString('latin1')
    : name;
}
