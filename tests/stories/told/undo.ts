import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Story, step } from '../story.ts';

/** What was done is taken back, and that is taken back, too. */
export const undo: Story = {
  title: 'a task and an edit that are undone one after the other, redone, and undone all at once',
  settings: { FETCH_AUTONOMY: 'autonomous', GH_TOKEN: '' },
  tell: ({ ann, git }) => {
    const states: string[] = [];
    /** Files, ignored ones too, and the commit: what `undo` has to bring back exactly. */
    const state = () =>
      `${git('attic', 'rev-parse', 'HEAD^{tree}')}\n${git('attic', 'status', '--porcelain', '--ignored')}\n${git('attic', 'diff')}`;
    const keeps = (sentence: string, like: RegExp) =>
      step(sentence, async () => {
        await ann.sees(like);
        states.push(state());
      });
    const isAt = (sentence: string, like: RegExp, at: number) =>
      step(sentence, async () => {
        await ann.sees(like);
        expect(state()).toBe(states[at]);
      });
    const goal =
      'write attic.md boxes; wait 1; run mkdir -p deep && echo chest > deep/chest.txt; append README.md full';
    return [
      step('Ann asks for a project', () => ann.asks([['workspace_create', { name: 'attic', template: 'empty' }]])),
      keeps('the phone says that it is made', /Created attic/),
      step('Ann has a task done', () =>
        ann.asks(
          [['task_create', { goal, agent: 'practice', workspace: 'attic', timeout: 900_000 }]],
          'It works on that.',
        ),
      ),
      step('the phone says that it works', () => ann.sees(/It works on that/)),
      keeps('the phone shows the report', /attic\.md/),
      step('Ann asks for an edit', () =>
        ann.asks([['file_write', { workspace: 'attic', path: 'attic.md', content: 'empty\n' }]], 'It is written.'),
      ),
      keeps('the phone says that it is written', /It is written/),
      step('Ann says undo', () => ann.says('undo')),
      isAt('the edit is gone', /^Undone: attic\.md/, 1),
      step('Ann says undo once more', () => ann.says('undo')),
      isAt('the task is gone', /^Undone: /, 0),
      step('Ann says redo', () => ann.says('redo')),
      isAt('the task is there again', /^Redone: /, 1),
      step('Ann says undo all', () => ann.says('undo all')),
      isAt('all is as in the beginning', /^Undone: /, 0),
    ];
  },
  end: async ({ app, folder, git }) => {
    expect(git('attic', 'status', '--porcelain')).toBe('');
    expect(readFileSync(join(folder('attic'), 'README.md'), 'utf8')).not.toContain('full');
    expect(await app.store.db.selectFrom('tasks').select('state').execute()).toEqual([{ state: 'completed' }]);
  },
};
