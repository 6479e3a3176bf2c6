import { describe, expect, it } from 'vitest';
import { english } from '../../../src/domain/texts/say.ts';
import { offeredTools } from '../../../src/tools/offer.ts';
import { tools } from '../../../src/tools/registry.ts';

const NAMES = [
  'github_pr_create',
  'github_pr_list',
  'github_pr_view',
  'github_issue_create',
  'github_issue_list',
  'github_branch_create',
  'github_action_status',
  'github_search_repos',
] as const;
const parse = (name: string, args: unknown) => tools.get(name)!.schema.safeParse(args);
const writing = NAMES.filter((name) => name.endsWith('_create'));
const reading = NAMES.filter((name) => !name.endsWith('_create'));

describe('the tools of GitHub', () => {
  it('are offered together once one of them was needed, with the names of the contract and always in the same order', () => {
    const offered = offeredTools({
      access: { mode: 'agent', allowShell: true },
      added: new Map(),
      opened: ['github'],
    }).map(({ name }) => name);
    expect(offered.filter((name) => name.startsWith('github_'))).toEqual([...NAMES]);
  });

  it('that write are never run a second time, ask, say what they send, and show what they would make', () => {
    for (const name of writing) {
      const tool = tools.get(name)!;
      expect([
        name,
        tool.danger,
        tool.effect,
        tool.sends.length > 0,
        tool.sent,
        typeof tool.asks,
        typeof tool.preview,
      ]).toEqual([...[name, 'MODERATE', 'once', true, undefined, 'function', 'function']]);
    }
  });

  it('that read are safe, may run again, send nothing, and read text of strangers', () => {
    for (const name of reading) {
      const { danger, effect, sends, reads } = tools.get(name)!;
      expect([name, danger, effect, sends, reads]).toEqual([name, 'SAFE', 'idempotent', [], ['page']]);
    }
  });

  it.each([
    ['github_pr_create', { title: 'x' }, { body: '', base: 'main', draft: true }],
    ['github_pr_list', {}, { state: 'open', limit: 10 }],
    ['github_pr_view', { number: 1 }, {}],
    ['github_issue_create', { title: 'x' }, { body: '', labels: [] }],
    ['github_issue_list', {}, { state: 'open' }],
    ['github_branch_create', { name: 'x' }, {}],
    ['github_action_status', {}, {}],
    ['github_search_repos', { query: 'x' }, { limit: 5 }],
  ])('%s takes %j and has the defaults of the contract', (name, args, defaults) =>
    expect(parse(name, args).data).toEqual({ ...args, ...defaults }),
  );

  it.each([
    [
      'github_pr_create',
      { title: 'x'.repeat(256), body: 'x'.repeat(4000), base: 'release/1.0', draft: false, workspace: 'app' },
    ],
    ['github_pr_list', { state: 'all', repo: 'facebook/react', limit: 100 }],
    ['github_pr_view', { number: 123456, repo: 'a/b' }],
    ['github_issue_create', { title: 'x', labels: Array.from({ length: 10 }, (_, n) => `${n}`.repeat(50)) }],
    ['github_issue_list', { assignee: 'a'.repeat(39), labels: ['good first issue'] }],
    ['github_issue_list', { assignee: '*' }],
    ['github_branch_create', { name: `${'a'.repeat(98)}/b`, from: 'main' }],
    ['github_search_repos', { query: 'x'.repeat(256), limit: 20 }],
  ])('%s takes %j', (name, args) => expect(parse(name, args).error).toBeUndefined());

  it.each([
    ['github_pr_create', { title: ' ' }],
    ['github_pr_create', { title: 'x'.repeat(257) }],
    ['github_pr_create', { title: 'x', body: 'x'.repeat(4001) }],
    ['github_pr_create', { title: 'x', base: '--force' }],
    ['github_pr_create', { title: 'x', base: 'a:b' }],
    ['github_pr_create', { title: 'x', head: 'other' }],
    ['github_pr_list', { state: 'merged' }],
    ['github_pr_list', { limit: 101 }],
    ['github_pr_list', { limit: 0 }],
    ['github_pr_list', { repo: 'react' }],
    ['github_pr_list', { repo: '../user/repos' }],
    ['github_pr_list', { repo: 'a/b?x' }],
    ['github_pr_view', { number: 0 }],
    ['github_pr_view', { number: 1.5 }],
    ['github_issue_create', { title: 'x', labels: Array.from({ length: 11 }, () => 'a') }],
    ['github_issue_create', { title: 'x', labels: ['x'.repeat(51)] }],
    ['github_issue_create', { title: 'a\0b' }],
    ['github_issue_list', { assignee: 'a'.repeat(40) }],
    ['github_issue_list', { assignee: 'a b' }],
    ['github_issue_list', { labels: ['a,b'] }],
    ['github_branch_create', { name: 'x'.repeat(101) }],
    ['github_branch_create', { name: '-x' }],
    ['github_branch_create', { name: 'a..b' }],
    ['github_branch_create', { name: 'a.lock' }],
    ['github_branch_create', { name: 'a b' }],
    ['github_branch_create', { name: 'ä' }],
    ['github_branch_create', { name: 'x', from: '--orphan' }],
    ['github_branch_create', { name: 'HEAD' }],
    ['github_search_repos', { query: '' }],
    ['github_search_repos', { query: 'x', limit: 21 }],
    ['github_search_repos', { query: 'x', workspace: 'app' }],
  ])('%s refuses %j', (name, args) => expect(parse(name, args).success).toBe(false));

  it('ask in our words, with nothing hidden', () => {
    const question = (name: string, args: unknown) => tools.get(name)!.asks!(args as never, ' in app', english);
    expect(question('github_pr_create', { title: 'Fix\u202e it', base: 'main' })).toBe(
      'Push the current branch in app and make the pull request "Fix⟨U+202E⟩ it" into "main"?',
    );
    expect(question('github_issue_create', { title: 'It squeaks' })).toBe(
      'Make the issue "It squeaks" on GitHub in app?',
    );
    expect(question('github_branch_create', { name: 'x' })).toBe('Make the branch "x" in app and push it to GitHub?');
  });
});
