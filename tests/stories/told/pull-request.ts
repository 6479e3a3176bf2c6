import { expect } from 'vitest';
import type { ReceivedMessage } from '../../support/whatsapp/handset.ts';
import { type Story, step } from '../story.ts';

/** From nothing to a pull request: a project, a task that asks, its diff, and a yes by 👍. */
export const pullRequest: Story = {
  title: 'a project from a template, a task with a question, and its pull request after a 👍',
  settings: { FETCH_AUTONOMY: 'cautious' },
  tell: ({ ann }) => {
    let question: ReceivedMessage;
    const goal =
      'ask Which greeting? | Hello | Moin; write src/words.js export const word = "{answer}"\\;; wait 2; append README.md It says {answer}.';
    return [
      step('Ann asks for a project from the template node', () =>
        ann.asks([['workspace_create', { name: 'garden', template: 'node' }]]),
      ),
      step('the phone says that it is made and on GitHub', () => ann.sees(/Created garden[\s\S]*Published/)),
      step('Ann asks for a branch', () => ann.asks([['github_branch_create', { workspace: 'garden', name: 'moin' }]]), {
        killAtOnce: true,
      }),
      step('the phone says that the branch is pushed', () => ann.sees(/Made the branch moin/)),
      step('Ann asks for a change by a coding agent', () =>
        ann.asks(
          [['task_create', { goal, agent: 'practice', workspace: 'garden', timeout: 900_000 }]],
          'It works on that.',
        ),
      ),
      step('the phone says that it works', () => ann.sees(/It works on that/)),
      step('the agent asks', () => ann.sees(/Which greeting\?/)),
      step('Ann answers by the number', () => ann.says('2')),
      step('the phone shows the report with what changed', () => ann.sees(/src\/words\.js/)),
      step('Ann asks for a pull request', () =>
        ann.asks([['github_pr_create', { workspace: 'garden', title: 'Say Moin', body: 'As we do here.' }]]),
      ),
      step('the phone shows all that would be made', async () => {
        question = await ann.sees(/From: moin at [\s\S]*Say Moin[\s\S]*As we do here/);
      }),
      step('Ann allows it by 👍', () => ann.likes(question), { killAtOnce: true }),
      step('the phone names the pull request', () => ann.sees(/Made #1 "Say Moin"/)),
    ];
  },
  end: async ({ app, github, git, onGitHub }) => {
    const { pulls } = github.records('garden');
    expect(pulls).toMatchObject([{ title: 'Say Moin', head: { ref: 'moin' }, base: { ref: 'main' } }]);
    // on the branch: one commit of the task and no other
    expect(onGitHub('garden', 'rev-list', '--count', 'main..moin')).toBe('1');
    expect(onGitHub('garden', 'show', 'moin:src/words.js')).toBe('export const word = "Moin";');
    expect(onGitHub('garden', 'show', 'moin:README.md').match(/It says Moin\./g)).toHaveLength(1);
    expect(onGitHub('garden', 'rev-parse', 'moin')).toBe(git('garden', 'rev-parse', 'moin'));
    expect(git('garden', 'status', '--porcelain')).toBe('');
    expect(await app.store.db.selectFrom('tasks').select(['state', 'harness']).execute()).toEqual([
      { state: 'completed', harness: 'practice' },
    ]);
    expect(
      await app.store.db.selectFrom('questions').select(['kind', 'state']).orderBy('asked_at').execute(),
    ).toHaveLength(2);
  },
};
