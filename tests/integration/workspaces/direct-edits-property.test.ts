import fc from 'fast-check';
import { expect, test } from 'vitest';
import { holds, PROPERTY_MS } from '../../support/property.ts';
import { author, Workspace } from './program.ts';

const PATHS = ['a.txt', 'b.txt', 'd/x.txt', 'd/e/y.txt', 'ignored.log', 'ü i.txt'];

interface Act {
  /** `person` adds a line at the end of a file; the others change what is between the marks */
  by: 'write' | 'edit' | 'delete' | 'folder' | 'command' | 'task' | 'person';
  path: string;
  /** whether it begins a turn */
  turn: boolean;
}

const act: fc.Arbitrary<Act> = fc.record({
  by: fc.constantFrom<Act['by']>(
    'write',
    'write',
    'edit',
    'edit',
    'delete',
    'folder',
    'command',
    'task',
    'person',
    'person',
  ),
  path: fc.constantFrom(...PATHS),
  turn: fc.boolean(),
});

/** Far enough below what tools change that both can be told apart by lines. */
const body = (what: string, tail = '') => `${what}\n1\n2\n3\n4\n5\n6\n${tail}`;

const textOf = (w: Workspace, path: string): string | null => {
  try {
    return w.read(path);
  } catch {
    return null;
  }
};

test('over random direct edits, commands, tasks and lines of a person, undo brings back all of theirs and takes none of the person', {
  timeout: PROPERTY_MS,
}, () => {
  holds(
    fc.property(fc.array(act, { minLength: 1, maxLength: 7 }), (acts) => {
      const w = Workspace.repository({ 'a.txt': body('a'), 'd/x.txt': body('x'), '.gitignore': 'ignored.log\n' });
      w.write({ 'ignored.log': body('log') });
      try {
        const start = w.files();
        let turn = 0;
        let persons = 0;
        for (const [number, { by, path, turn: begins }] of acts.entries()) {
          if (begins) turn += 1;
          const there = textOf(w, path);
          const tail = there?.split('6\n')[1] ?? '';
          const edit = { key: `edit-${number}`, turn: `t${turn}` };
          const next = body(`tool ${number}`, tail);
          if (by === 'person') {
            if (there === null) continue;
            w.write({ [path]: `${there}person ${number}\n` });
            persons += 1;
          } else if (by === 'write') w.ok({ op: 'write', path, content: next, edit });
          else if (by === 'edit') {
            if (there !== null)
              w.ok({ op: 'edit', path, find: there.split('\n')[0]!, replace: `tool ${number}`, all: false, edit });
          } else if (by === 'delete') {
            if (there !== null) w.ok({ op: 'delete', path, kind: 'file', edit });
          } else if (by === 'folder') {
            if (textOf(w, 'd/x.txt') !== null)
              w.ok({ op: 'delete', path: 'd', kind: 'folder', edit: { ...edit, key: `command-${number}` } });
          } else if (by === 'command') {
            w.ok({ op: 'checkpoint', key: `command-${number}`, author, turn: edit.turn });
            w.write({ [path]: next });
            w.ok({ op: 'settle', key: `command-${number}`, author });
          } else {
            // what a task newly makes and the person's rules ignore is not its own
            if (path === 'ignored.log' && there === null) continue;
            w.checkpoint(`task-${number}`);
            w.write({ [path]: next });
            w.conclude(`task-${number}`, { keepOnBranchOnly: true });
          }
        }
        const end = w.files();
        if (persons === 0) {
          for (;;) if (!w.undo().ok) break;
          expect(w.files()).toEqual(start);
          for (;;) if (!w.undo('redo').ok) break;
          expect(w.files()).toEqual(end);
          w.undo('all');
          expect(w.files()).toEqual(start);
          return;
        }
        const undone = w.undo('all');
        if (!undone.ok) expect(w.files()).toEqual(end);
        const lines = (files: Record<string, string>) =>
          Object.values(files).flatMap((text) => text.split('\n').filter((line) => line.startsWith('person')));
        // a person's line that was there at the end is there still, in whatever became of its file
        for (const line of lines(end)) expect(lines(w.files())).toContain(line);
      } finally {
        w.remove();
      }
    }),
    { runs: 12, soak: 1_000 },
  );
});
