import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { holds, PROPERTY_MS } from '../../support/property.ts';
import { Workspace } from './program.ts';

/**
 * Names as they were seen to break things: beyond Latin-1, composed and not, no UTF-8, quotes, line ends, leading
 * dashes, marks of git.
 */
const SEEN = [
  '名',
  '😀',
  'é'.normalize('NFC'),
  'é'.normalize('NFD'),
  'Ģ',
  '-rf',
  '--',
  'a\nb',
  '"q"',
  "it's",
  ' ',
  '\\',
  '\t',
  ':(top)x',
  '*',
  '~',
  '.git%',
  '\u202ecod.exe',
  '\u007f',
];
const bytes = fc.oneof(
  fc.constantFrom(...SEEN).map((name) => Buffer.from(name)),
  fc.constantFrom('ff', 'c3', '80fe', 'eda080').map((hex) => Buffer.from(hex, 'hex')),
  fc.uint8Array({ minLength: 1, maxLength: 12 }).map((name) => Buffer.from(name)),
);
const part = bytes
  .map((name) => name.toString('latin1'))
  .filter((name) => !/[\0/]/.test(name) && !/^(\.{1,2}|\.git)$/i.test(name));
/** A file at the top or in one of two folders; a name is never that of a folder. */
const path = fc
  .tuple(fc.constantFrom('', 'd/', '名/'), part)
  .map(([folder, name]) => `${Buffer.from(folder).toString('latin1')}f${name}`);
const raw = fc.oneof(path, part);

const at = (w: Workspace, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${w.root}/`), Buffer.from(name, 'latin1')]);
function put(w: Workspace, name: string, text: string): void {
  const slash = name.lastIndexOf('/');
  if (slash > 0) mkdirSync(at(w, name.slice(0, slash)), { recursive: true });
  writeFileSync(at(w, name), text);
}

/** No two that would need one name to be a file and a folder at once. */
const names = (max: number) =>
  fc
    .uniqueArray(raw, { maxLength: max })
    .map((all) => all.filter((name) => !all.some((other) => other.startsWith(`${name}/`))));

test('names of any bytes are kept, committed, told and undone', { timeout: PROPERTY_MS }, () => {
  const scenario = fc.record({
    committed: names(4),
    mine: names(4),
    ignored: names(2),
    added: names(4),
    removes: fc.boolean(),
    repository: fc.boolean(),
  });
  holds(
    fc.property(scenario, ({ committed, mine, ignored, added, removes, repository }) => {
      const w = repository ? Workspace.repository({ '.gitignore': '/ignored/\n' }) : new Workspace();
      try {
        const taken = new Set<string>();
        const folders = new Set<string>();
        const fresh = (all: string[]) =>
          all.filter((name) => {
            const folder = name.includes('/') ? name.slice(0, name.indexOf('/')) : null;
            if (taken.has(name) || folders.has(name) || (folder !== null && taken.has(folder))) return false;
            taken.add(name);
            if (folder !== null) folders.add(folder);
            return true;
          });
        for (const name of fresh(committed)) put(w, name, `committed ${name.length}\n`);
        if (repository) {
          w.git('add', '-A', '--', '.');
          w.git('commit', '-q', '--allow-empty', '-m', 'Second');
        }
        for (const name of fresh(mine)) put(w, name, 'mine\n');
        for (const name of repository ? ignored : []) put(w, `ignored/${name}`, 'ignored\n');
        const before = w.state();
        w.checkpoint('t1');
        expect(w.state()).toEqual(before);
        if (removes) for (const name of Object.keys(before.files)) rmSync(at(w, name));
        const own = fresh(added);
        for (const name of own) put(w, name, 'by the task\n');
        const worked = w.files();
        const changes = w.conclude('t1');
        expect(w.files()).toEqual(worked);
        expect(changes.filesChanged ?? changes.files.length).toBeGreaterThanOrEqual(own.length > 0 ? 1 : 0);
        expect(w.undo().ok).toBe(true);
        expect(w.state()).toEqual(before);
        expect(w.undo('redo').ok).toBe(true);
        expect(w.files()).toEqual(worked);
      } finally {
        w.remove();
      }
    }),
    {
      runs: 8,
      soak: 1_000,
      examples: [
        [
          {
            committed: ['f'],
            mine: [],
            ignored: [],
            added: SEEN.map((name) => Buffer.from(name).toString('latin1')),
            removes: true,
            repository: true,
          },
        ],
      ],
    },
  );
});
