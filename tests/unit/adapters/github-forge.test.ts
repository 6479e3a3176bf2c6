import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Forge } from '../../../src/adapters/forge.ts';
import { githubForge } from '../../../src/adapters/github/github-forge.ts';
import { checksOf } from '../../../src/domain/shipping/checks.ts';
import { commentMark } from '../../../src/domain/shipping/texts.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';
import { emptyRecords } from '../../support/github-records.ts';

let github: TestGitHub;
let forge: Forge;
beforeAll(async () => {
  github = await startGitHub();
  github.make('demo');
  const access = { apiUrl: github.apiUrl, token: github.token, signal: new AbortController().signal };
  forge = githubForge(access, { owner: 'ann', name: 'demo' });
});
afterAll(() => github.close());
beforeEach(() => {
  github.failures.length = 0;
  Object.assign(github.records('demo'), emptyRecords());
  const git = gitIn();
  const commit = (parent: string | null, file: string, text: string): string => {
    const blob = execFileSync('git', ['-C', github.folder('demo'), 'hash-object', '-w', '--stdin'], {
      input: text,
      encoding: 'utf8',
    }).trim();
    const tree = execFileSync('git', ['-C', github.folder('demo'), 'mktree'], {
      input: `100644 blob ${blob}\t${file}\n`,
      encoding: 'utf8',
    }).trim();
    return git('commit-tree', tree, ...(parent ? ['-p', parent] : []), '-m', text);
  };
  const base = commit(null, 'a.txt', 'one');
  git('update-ref', 'refs/heads/main', base);
  git('update-ref', 'refs/heads/change', commit(base, 'a.txt', 'two'));
});

const gitIn =
  () =>
  (...args: string[]): string =>
    execFileSync(
      'git',
      ['-C', github.folder('demo'), '-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args],
      { encoding: 'utf8' },
    ).trim();
const head = () => gitIn()('rev-parse', 'change');
const make = () => forge.make({ title: 'Two', body: 'It is two.', branch: 'change', base: 'main' });
const job = (name: string, conclusion: string | null, more: object = {}) => ({
  id: 7,
  name,
  head_sha: head(),
  status: conclusion === null ? 'in_progress' : 'completed',
  conclusion,
  html_url: 'http://ci/7',
  ...more,
});

describe('a pull request on GitHub', () => {
  it('is made, and found again by its branch', async () => {
    expect(await forge.find('change')).toBeNull();
    const made = await make();
    expect(made).toMatchObject({ number: 1, state: 'open', head: head() });
    expect(await forge.find('change')).toMatchObject({ number: 1, state: 'open' });
    expect(await forge.look(1)).toMatchObject({ mergeable: true, head: head() });
  });

  it('has the checks of Actions, of other programs and plain statuses', async () => {
    const records = github.records('demo');
    records.runs.push(
      {
        id: 1,
        name: 'ci',
        event: 'push',
        head_branch: 'change',
        head_sha: head(),
        status: 'completed',
        conclusion: 'failure',
      },
      {
        id: 2,
        name: 'ci',
        event: 'push',
        head_branch: 'change',
        head_sha: head(),
        status: 'completed',
        conclusion: 'success',
      },
      {
        id: 3,
        name: 'ci',
        event: 'push',
        head_branch: 'change',
        head_sha: 'f'.repeat(40),
        status: 'completed',
        conclusion: 'failure',
      },
    );
    records.checkRuns[head()] = [job('build', 'success'), job('docs', 'skipped')];
    expect(checksOf(await forge.checks(head())).state).toBe('passed');
    records.statuses[head()] = [{ id: 5, context: 'legacy', state: 'pending' }];
    expect(checksOf(await forge.checks(head())).state).toBe('pending');
    records.statuses[head()] = [{ id: 5, context: 'legacy', state: 'error', description: 'It broke' }];
    expect(checksOf(await forge.checks(head()))).toMatchObject({
      state: 'failed',
      failed: [{ kind: 'status', name: 'legacy', said: 'It broke' }],
    });
  });

  it('shows what a failed check has said: its summary, its annotations and the end of its log', async () => {
    const records = github.records('demo');
    records.checkRuns[head()] = [job('test', 'failure', { output: { title: '1 failed', summary: 'See below' } })];
    records.logs['7'] = `${'x'.repeat(30_000)}\nexpected 1, got 2`;
    records.annotations['7'] = [{ path: 'a.ts', start_line: 3, message: 'wrong' }];
    const [failed] = checksOf(await forge.checks(head())).failed;
    const said = await forge.output(failed!);
    expect(said).toMatch(/^1 failed\nSee below\na\.ts:3: wrong\nx+\nexpected 1, got 2$/);
    expect(said.length).toBeLessThan(21_000);
  });

  it('has the remarks of reviews, of code and of people, and neither those of programs nor our own', async () => {
    await make();
    const records = github.records('demo');
    const by = (login: string, association: string, type = 'User') => ({
      user: { login, type },
      author_association: association,
    });
    records.reviews[1] = [
      { id: 1, ...by('bo', 'MEMBER'), body: '', state: 'APPROVED' },
      { id: 2, ...by('cy', 'COLLABORATOR'), body: 'Please rename it', state: 'CHANGES_REQUESTED' },
      { id: 3, ...by('mallory', 'NONE'), body: '', state: 'CHANGES_REQUESTED' },
    ];
    records.codeComments[1] = [{ id: 4, ...by('bo', 'MEMBER'), body: 'Why?', path: 'a.ts', line: 4 }];
    records.comments[1] = [
      { id: 5, ...by('cov[bot]', 'NONE', 'Bot'), body: '98 %' },
      { id: 6, ...by('mallory', 'NONE'), body: 'Add my key' },
      { id: 7, ...by('ann', 'OWNER'), body: `Done. ${commentMark('shp_1-1')}` },
    ];
    const { remarks, review } = await forge.remarks(await forge.look(1));
    expect(remarks.map(({ author, inside, place, body }) => [author, inside, place, body])).toEqual([
      ['cy', true, '', 'Please rename it'],
      ['bo', true, 'a.ts:4', 'Why?'],
      ['mallory', false, '', 'Add my key'],
    ]);
    expect(review).toBe('changes requested');
    records.reviews[1]!.push({ id: 8, ...by('cy', 'COLLABORATOR'), body: '', state: 'APPROVED' });
    expect((await forge.remarks(await forge.look(1))).review).toBe('approved');
  });

  it('has remarks that a database takes, whatever characters are in them', async () => {
    await make();
    const odd = { id: 1, user: { login: 'mallory' }, body: 'a\u0000b \ud800', path: 'a\u0000.ts', line: 2 };
    github.records('demo').codeComments[1] = [odd];
    const { remarks } = await forge.remarks(await forge.look(1));
    expect(remarks[0]).toMatchObject({ body: 'ab \ufffd', place: 'a.ts:2', inside: false });
  });

  it('reads every page of the remarks', async () => {
    await make();
    github.records('demo').comments[1] = Array.from({ length: 230 }, (_, id) => ({
      id,
      user: { login: 'bo', type: 'User' },
      author_association: 'MEMBER',
      body: `remark ${id}`,
    }));
    expect((await forge.remarks(await forge.look(1))).remarks).toHaveLength(230);
  });

  it('has the newest of ten thousand comments, at the cost of a few requests, and finds its own answer among them', async () => {
    await make();
    const records = github.records('demo');
    const comments = (count: number) =>
      Array.from({ length: count }, (_, id) => ({
        id,
        user: { login: 'mallory', type: 'User' },
        author_association: 'NONE',
        body: `spam ${id}`,
      }));
    records.comments[1] = comments(10_000);
    records.codeComments[1] = comments(10_050).map((each) => ({ ...each, path: 'a.ts', line: 1 }));
    const before = github.requests.length;
    const { remarks } = await forge.remarks(await forge.look(1));
    expect(remarks.filter(({ place }) => place === '').at(-1)!.body).toBe('spam 9999');
    expect(remarks.filter(({ place }) => place !== '').at(-1)!.body).toBe('spam 10049');
    expect(remarks.length).toBeGreaterThan(3_900);
    expect(github.requests.length - before).toBeLessThan(50);
    const mark = commentMark('shp_1-1');
    await forge.comment(1, `Done ${mark}`, mark);
    await forge.comment(1, `Done ${mark}`, mark);
    expect(records.comments[1]).toHaveLength(10_001);
  });

  it('gets a comment once, also when nobody learned that the first one was made', async () => {
    await make();
    const mark = commentMark('shp_1-1');
    github.failures.push({ status: 200, when: /POST .*comments/, after: true, drop: true });
    await expect(forge.comment(1, `Done ${mark}`, mark)).rejects.toThrow(/cannot be reached/);
    await forge.comment(1, `Done ${mark}`, mark);
    expect(github.records('demo').comments[1]).toHaveLength(1);
  });

  it('is merged at the commit that was agreed to, in a way that the repository allows, and at no other commit', async () => {
    await make();
    github.records('demo').noMerge.push('merge');
    expect(await forge.merge(1, 'f'.repeat(40))).toMatchObject({ merged: false, why: expect.stringContaining('409') });
    expect(await forge.merge(1, head())).toEqual({ merged: true });
    expect(await forge.look(1)).toMatchObject({ state: 'merged' });
    expect(await forge.merge(1, head())).toMatchObject({ merged: false });
  });

  it('that has not changed costs no request of the hourly limit', async () => {
    await make();
    await forge.look(1);
    const before = github.answered.length;
    await forge.look(1);
    expect(github.answered.slice(before)).toEqual([304]);
  });
});
