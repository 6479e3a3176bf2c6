import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ReceivedMessage } from '../../support/whatsapp/handset.ts';
import { type Story, step } from '../story.ts';

/** Work under supervision: each change is shown as a diff, and each is allowed by 👍. */
export const push: Story = {
  title: 'an edit that is shown as a diff, its tests, its commit and its push, each allowed by 👍',
  settings: { FETCH_AUTONOMY: 'supervised' },
  tell: ({ ann }) => {
    let question: ReceivedMessage;
    const asked = (sentence: string, like: RegExp) =>
      step(sentence, async () => {
        question = await ann.sees(like);
      });
    const allows = (what: string) => step(`Ann allows ${what} by 👍`, () => ann.likes(question));
    return [
      step('Ann asks for a project', () => ann.asks([['workspace_create', { name: 'shop', template: 'node' }]])),
      asked('the phone asks whether it may be made', /Make (?:the|a) [\s\S]*shop/),
      allows('the project'),
      step('the phone says that it is made', () => ann.sees(/Created shop/)),
      step('Ann asks for an edit, the tests, and a push', () =>
        ann.asks(
          [
            ['file_edit', { workspace: 'shop', path: 'src/greeting.js', find: '{name}', replace: '{name.trim()}' }],
            ['app_test', { workspace: 'shop' }],
            ['workspace_sync', { name: 'shop', message: 'Trim names' }],
          ],
          'Trimmed, tested and pushed.',
        ),
      ),
      asked(
        'the phone shows the edit as a diff',
        /-\s+return `Hello, \$\{name\}!`;[\s\S]*\+\s+return `Hello, \$\{name\.trim\(\)\}!`;/,
      ),
      allows('the edit'),
      asked('the phone asks whether the tests may run', /[Rr]un the tests/),
      allows('the tests'),
      asked('the phone asks whether it may be pushed', /Trim names/),
      allows('the push'),
      step('the phone says that all is done', () => ann.sees(/Trimmed, tested and pushed/)),
    ];
  },
  end: async ({ app, folder, git, onGitHub }) => {
    expect(readFileSync(join(folder('shop'), 'src/greeting.js'), 'utf8')).toContain('name.trim()');
    expect(
      onGitHub('shop', 'log', '--format=%s', 'main')
        .split('\n')
        .filter((subject) => subject === 'Trim names'),
    ).toHaveLength(1);
    expect(onGitHub('shop', 'rev-parse', 'main')).toBe(git('shop', 'rev-parse', 'HEAD'));
    expect(onGitHub('shop', 'rev-list', '--count', 'main')).toBe('2');
    expect(git('shop', 'status', '--porcelain')).toBe('');
    const questions = await app.store.db.selectFrom('questions').select(['state', 'decision']).execute();
    expect(questions).toEqual(Array.from({ length: 4 }, () => ({ state: 'answered', decision: 'allow' })));
    const calls = await app.store.db.selectFrom('calls').select(['name', 'ok']).orderBy('started_at').execute();
    expect(calls.map(({ name, ok }) => [name, ok])).toEqual([
      ['workspace_create', true],
      ['file_edit', true],
      ['app_test', true],
      ['workspace_sync', true],
    ]);
  },
};
