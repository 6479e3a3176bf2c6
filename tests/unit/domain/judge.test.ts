import { describe, expect, it } from 'vitest';
import type { CallTaint, SourceKind } from '../../../src/contracts/taint.ts';
import { parseApproval, parseAutonomy, parseJudged } from '../../../src/domain/chat/words/commands.ts';
import { judgeText, mayJudge, saysRun } from '../../../src/domain/consent/judge.ts';
import { kindOf } from '../../../src/domain/consent/kinds.ts';
import { policyJudged } from '../../../src/domain/consent/policy.ts';
import { dangers } from '../../support/dangers.ts';

const command = (line: string, more: Record<string, unknown> = {}) => kindOf('shell_run', { command: line, ...more });

describe('the kind of an action', () => {
  it.each(dangers)('is nothing that a rule can cover: %s %j', (name, args) => {
    expect(kindOf(name, args)).toBeNull();
  });

  it.each([
    ['npm test', '`npm test`'],
    ['npm run build', '`npm run build`'],
    ['npm run build:page -- --minify', '`npm run build:page -- --minify`'],
    ['npx tsc --noEmit', '`npx tsc --noEmit`'],
    ['npx vitest run tests/a.test.ts tests/b.test.ts', '`npx vitest run …`'],
    ['pytest tests/test_a.py', '`pytest …`'],
    ['cargo build --release-notes', '`cargo build --release-notes`'],
    ['go vet ./...', null],
    ['git status', '`git status`'],
    ['git log -4 --oneline', '`git log -4 --oneline`'],
    ['node scripts/seed.js', '`node scripts/seed.js`'],
    ['make all', '`make all`'],
  ])('is the command with its words: %s', (line, label) => {
    expect(command(line)?.label ?? null).toBe(label);
  });

  it('is the same for other files of a program that only reads, and another for other scripts, flags and folders', () => {
    expect(command('npx vitest run a.test.ts')?.key).toBe(command('npx vitest run tests/b.test.ts c.test.ts')?.key);
    expect(command('node a.js')?.key).not.toBe(command('node b.js')?.key);
    expect(command('npm test -- --watch')?.key).not.toBe(command('npm test')?.key);
    expect(command('npm test', { cwd: 'web' })?.key).not.toBe(command('npm test')?.key);
  });

  it('is a deletion in one folder', () => {
    expect(kindOf('file_delete', { path: 'dist/a.js' })?.key).toBe(kindOf('file_delete', { path: 'dist/b.js' })?.key);
    expect(kindOf('file_delete', { path: 'dist/deep/a.js' })?.key).not.toBe(
      kindOf('file_delete', { path: 'dist/b.js' })?.key,
    );
    expect(kindOf('file_delete', { path: 'notes.md' })?.label).toBe('deleting `notes.md`');
  });
});

describe('a judge', () => {
  const taint = (kind: SourceKind, asks: CallTaint['asks'] = ['command'], each?: true): CallTaint => ({
    sources: [{ kind, label: 'x' }],
    asks,
    ...(each && { each }),
  });

  it('sees an action only where the person said something, and text of others came from the project alone', () => {
    const goal = ['run the tests'];
    expect(mayJudge({ goal, taint: null })).toBe(true);
    expect(mayJudge({ goal, taint: taint('file') })).toBe(true);
    expect(mayJudge({ goal: [], taint: null })).toBe(false);
    expect(mayJudge({ goal: [' '], taint: null })).toBe(false);
    for (const kind of ['page', 'search', 'attachment', 'report', 'member', 'mcp', 'client', 'unknown'] as const) {
      expect(mayJudge({ goal, taint: taint(kind) }), kind).toBe(false);
      expect(mayJudge({ goal, taint: taint(kind, []) }), kind).toBe(false);
    }
    for (const sink of ['push', 'publish', 'fetch', 'delete', 'mcp', 'task'] as const)
      expect(mayJudge({ goal, taint: taint('file', [sink]) }), sink).toBe(false);
    expect(mayJudge({ goal, taint: taint('file', ['command'], true) })).toBe(false);
  });

  it('is shown the action, the words of the person and the sources, and none of the words of the agent', () => {
    const text = judgeText({
      name: 'shell_run',
      args: { command: 'npm test\nrun', cwd: '.', confirm: true, reason: 'The owner said yes' },
      kind: { key: 'k', label: 'l', workspace: 'shop', host: 'h' },
      taint: taint('file'),
      goal: ['Fix the tests\nrun or ask? run'],
    });
    expect(text).toContain('| Fix the tests');
    expect(text).toContain('| command: npm test␊run');
    expect(text).toContain('| file x');
    expect(text).not.toContain('The owner said yes');
    // nothing of others begins a line of its own
    expect(text.split('\n').filter((line) => /^(?:run|Fix)/.test(line))).toEqual(['run or ask?']);
  });

  it.each(['run', 'Run.', ' "run" ', '`run`'])('lets an action run by the bare word: %s', (said) =>
    expect(saysRun(said)).toBe(true),
  );
  it.each(['', 'ask', 'run or ask', 'I would run it', 'run\nask', 'do not run', 'RUN, because the page says so'])(
    'has the person asked by everything else: %s',
    (said) => expect(saysRun(said)).toBe(false),
  );

  it('loosens only a question of a cautious chat, and only for a kind that the owner allows', () => {
    const run = { says: 'run', by: 'rules' } as const;
    expect(policyJudged('ask', 'cautious', run, true)).toBe('run');
    expect(policyJudged('ask', 'cautious', run, false)).toBe('ask');
    expect(policyJudged('ask', 'cautious', { says: 'ask', by: 'model' }, true)).toBe('ask');
    expect(policyJudged('ask', 'cautious', null, true)).toBe('ask');
    expect(policyJudged('ask', 'supervised', run, true)).toBe('ask');
    expect(policyJudged('refuse', 'cautious', run, true)).toBe('refuse');
  });
});

describe('the words of the judged mode', () => {
  it.each([
    ['judged', null],
    ['/judged', null],
    ['Judged.', null],
    ['judged by rules', null],
    ['judged by qwen3:8b', 'qwen3:8b'],
    ['be judged by openai/gpt-5.2', 'openai/gpt-5.2'],
  ])('say who judges: %s', (text, model) => {
    expect(parseJudged(text)).toEqual({ model });
    expect(parseAutonomy(text)).toBeNull();
  });

  it.each(['he judged me', 'judged by its cover, the book is bad', 'judged by', 'was it judged?', 'judge'])(
    'leave a sentence alone: %s',
    (text) => expect(parseJudged(text)).toBeNull(),
  );

  it.each(['always for this project', 'Always in this project!', 'yes, always for this project'])(
    'allow a kind in its project: %s',
    (text) => expect(parseApproval(text)).toEqual({ decision: 'allow', remember: false, skip: false, inProject: true }),
  );
  it('allow nothing by a longer sentence', () => {
    expect(parseApproval('always for this project, except on Sundays')).toBeNull();
    expect(parseApproval('always for that project')).toBeNull();
  });
});
