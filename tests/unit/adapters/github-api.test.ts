import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createIssue, listIssues } from '../../../src/adapters/github/issues.ts';
import { createPullRequest, listPullRequests, viewPullRequest } from '../../../src/adapters/github/pull-requests.ts';
import {
  accountOf,
  findRepository,
  headOfBranch,
  searchRepositories,
} from '../../../src/adapters/github/repositories.ts';
import { listWorkflowRuns } from '../../../src/adapters/github/workflow-runs.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';
import { pull } from '../../support/github-records.ts';

let github: TestGitHub;
beforeAll(async () => {
  github = await startGitHub();
  github.make('private');
  github.make('public', { private: false });
});
afterAll(() => github.close());
beforeEach(() => {
  github.failures.length = 0;
});

const signal = new AbortController().signal;
const access = (token: string | undefined = github.token) => ({ apiUrl: github.apiUrl, signal, token });
const anonymous = () => ({ apiUrl: github.apiUrl, signal });
const at = (name: string) => ({ owner: 'ann', name });
const open = { state: 'open', limit: 10 } as const;

describe('GitHub says no', () => {
  it.each([
    [{ status: 401 }, /has expired or is not a token of this server/],
    [
      { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1800000000' } },
      /no more requests for now, until 08:00 UTC\.$/,
    ],
    [{ status: 429 }, /no more requests for now\.$/],
    [
      { status: 403, headers: { 'retry-after': '60' }, body: { message: 'You have exceeded a secondary rate limit.' } },
      /for now: try again in 60 s\.$/,
    ],
    [
      { status: 403, body: { message: 'Resource not accessible by integration' } },
      /403: Resource not accessible by integration\)\. It needs the scope repo/,
    ],
    [
      { status: 403, body: { message: 'Repository was archived so is read-only.' } },
      /^The repository is archived on GitHub, so nothing in it can be changed/,
    ],
    [
      { status: 403, headers: { 'x-accepted-github-permissions': 'pull_requests=write' } },
      /permissions pull_requests=write\.$/,
    ],
    [
      {
        status: 403,
        headers: { 'x-github-sso': 'required; url=https://github.com/orgs/acme/sso?authorization_request=A' },
      },
      /Authorise the token at https:\/\/github\.com\/orgs\/acme\/sso/,
    ],
    [{ status: 404 }, /knows no such thing \(404\), or the token may not see it/],
    [
      { status: 410, body: { message: 'Issues are disabled for this repo' } },
      /switched off\. .*410: Issues are disabled for this repo\.$/,
    ],
    [
      {
        status: 422,
        body: {
          message: 'Validation Failed',
          errors: [{ resource: 'Issue', field: 'title', code: 'missing' }, 'plain', { message: 'words' }],
        },
      },
      /422: Validation Failed; title missing; plain; words\.$/,
    ],
    [{ status: 422, body: { message: 'a\u001b[2J\nb\u202e' } }, /422: a b\.$/],
    [{ status: 418, body: 'teapot' }, /418: no reason given/],
  ])('%j becomes a sentence', async (failure, why) => {
    github.failures.push(failure);
    await expect(createIssue(access(), at('private'), { title: 'x', body: '', labels: [] })).rejects.toMatchObject({
      name: 'GitHubRefusal',
      status: failure.status,
      message: expect.stringMatching(why),
    });
  });

  it('without a token it says what a token would give', async () => {
    await expect(listPullRequests(anonymous(), at('private'), open)).rejects.toThrow(
      /without a token \(404\).*put in a GitHub token/,
    );
    github.failures.push({ status: 403, headers: { 'x-ratelimit-remaining': '0' } });
    await expect(listPullRequests(anonymous(), at('public'), open)).rejects.toThrow(
      /Without a token it allows 60 an hour; with one 5,000/,
    );
    expect(await listPullRequests(anonymous(), at('public'), open)).toEqual([]);
  });

  it('a page that is not of the API is not taken for an answer', async () => {
    for (const body of ['<html>Log in</html>', { login: 1 }, [], null]) {
      github.failures.push({ status: 200, body });
      await expect(accountOf(access())).rejects.toThrow(
        /answered something that is not of GitHub's API. Check its address on my page/,
      );
    }
  });

  it('never says the token', async () => {
    const wrong = 'ghp_wrong_and_secret';
    const error = await accountOf(access(wrong)).catch((thrown: Error) => thrown);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).stack)).not.toContain(
      wrong,
    );
  });
});

describe('GitHub is away', () => {
  const wanted = { title: 'x', body: '', base: 'main', head: 'side', draft: false };

  it('nothing was sent where nobody listens', async () => {
    const gone = await startGitHub();
    await gone.close();
    const nobody = { token: 'x', apiUrl: gone.apiUrl, signal };
    await expect(createPullRequest(nobody, at('private'), wanted)).rejects.toMatchObject({
      name: 'GitHubAway',
      unsure: false,
      message: expect.stringMatching(/cannot be reached at 127\.0\.0\.1:\d+: \S/),
    });
    await expect(accountOf({ ...nobody, apiUrl: gone.apiUrl.replace('127.0.0.1', 'localhost') })).rejects.toThrow(
      /reached at localhost:\d+: \S/,
    );
  });

  it('nobody knows after a connection that ended, or an error of the server, in a request that writes', async () => {
    github.failures.push({ status: 0, drop: true });
    await expect(createPullRequest(access(), at('private'), wanted)).rejects.toMatchObject({
      name: 'GitHubAway',
      unsure: true,
    });
    github.failures.push({ status: 503 });
    await expect(createPullRequest(access(), at('private'), wanted)).rejects.toMatchObject({
      unsure: true,
      message: 'GitHub answered 503.',
    });
    github.failures.push({ status: 503 });
    await expect(accountOf(access())).rejects.toMatchObject({ unsure: false });
  });

  it('an interrupt ends the request with its own reason', async () => {
    const stopped = new AbortController();
    stopped.abort(new Error('WORKER_SHUTDOWN'));
    await expect(accountOf({ ...access(), signal: stopped.signal })).rejects.toThrow('WORKER_SHUTDOWN');
  });
});

describe('a repeated question', () => {
  it('is answered from what is kept, as long as GitHub says that it has not changed', async () => {
    const { pulls } = github.records('public');
    pulls.push(pull(1, 'http://x.test/ann/public'));
    const ask = () => listPullRequests(access(), at('public'), open);
    expect((await ask()).length).toBe(1);
    expect((await ask()).length).toBe(1);
    expect(github.answered.slice(-2)).toEqual([200, 304]);
    pulls.push(pull(2, 'http://x.test/ann/public'));
    expect((await ask()).length).toBe(2);
    expect(github.answered.at(-1)).toBe(200);
  });

  it('is another one with another token, or with none', async () => {
    const ask = (token?: string) => listPullRequests({ ...anonymous(), ...(token && { token }) }, at('public'), open);
    await ask(github.token);
    await ask();
    expect(github.answered.at(-1)).toBe(200);
    await ask();
    expect(github.answered.at(-1)).toBe(304);
    await expect(ask('ghp_of_somebody_else')).rejects.toThrow('401');
  });

  it('is not answered from what is kept when GitHub refuses it now', async () => {
    expect(await findRepository(access(), at('private'))).not.toBeNull();
    github.failures.push({ status: 401 });
    await expect(findRepository(access(), at('private'))).rejects.toThrow('401');
  });
});

describe('names of strangers', () => {
  it('in a path stay one part of it', async () => {
    await headOfBranch(access(), at('private'), 'a/../../user?x=1#y');
    expect(github.requests.at(-1)).toBe('GET /api/repos/ann/private/branches/a%2F..%2F..%2Fuser%3Fx%3D1%23y');
    github.failures.push({ status: 200, body: { total_count: 0, items: [] } });
    await searchRepositories(access(), 'a b&per_page=100#', 5);
    expect(github.requests.at(-1)).toBe(
      'GET /api/search/repositories?q=a+b%26per_page%3D100%23&per_page=5'.replace('a+b', 'a%20b'),
    );
  });

  it('may be missing: an account that is gone, a text that was never written', async () => {
    const page = 'http://x.test/ann/private';
    github.records('private').pulls.push(pull(5, page, { user: null, body: null }));
    github.records('private').comments[5] = [{ user: null, body: null, created_at: '2026-01-01T00:00:00Z' }];
    expect(await viewPullRequest(access(), at('private'), 5)).toMatchObject({
      author: 'ghost',
      body: '',
      comments: [{ author: 'ghost', body: '' }],
    });
    expect(await listIssues(access(), at('private'), open)).toEqual([]);
    expect(await listWorkflowRuns(access(), at('private'), { limit: 5 })).toEqual([]);
  });
});
