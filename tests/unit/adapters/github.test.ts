import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGitHub } from '../../../src/adapters/github/api.ts';
import { pushBundle } from '../../../src/adapters/github/push.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';

let github: TestGitHub;
const folders: string[] = [];
beforeAll(async () => {
  github = await startGitHub();
});
afterAll(async () => {
  await github.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const signal = new AbortController().signal;
const client = (token = github.token) => createGitHub({ token, apiUrl: github.apiUrl, signal });

/** A repository with a commit, and ways to go on with it. */
function workspace() {
  const root = mkdtempSync(join(tmpdir(), 'fetch-ws-'));
  folders.push(root);
  const env = {
    PATH: process.env.PATH,
    HOME: root,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  const git = (...args: string[]) => execFileSync('git', ['-C', join(root, 'w'), ...args], { env, encoding: 'utf8' }).trim();
  execFileSync('git', ['init', '-q', '-b', 'main', join(root, 'w')], { env });
  let count = 0;
  const commit = () => {
    count += 1;
    writeFileSync(join(root, 'w', `f${count}`), `${Math.random()}`);
    git('add', '.');
    git('commit', '-qm', `commit ${count}`);
    return git('rev-parse', 'HEAD');
  };
  const bundle = (...refs: string[]) => {
    const file = join(root, `bundle-${Math.random()}`);
    git('bundle', 'create', '-q', file, ...refs);
    return file;
  };
  return { root, git, commit, bundle };
}

const pushTo = (url: string, bundle: string, more: Partial<Parameters<typeof pushBundle>[0]> = {}) =>
  pushBundle({ bundle, url, branch: 'main', everything: false, token: github.token, signal, ...more });
const onServer = (name: string, ref: string) => execFileSync('git', ['-C', github.folder(name), 'rev-parse', ref], { encoding: 'utf8' }).trim();

describe('a push from a bundle', () => {
  it('brings the branch to the server, and a second time says that nothing was new', async () => {
    const made = (await client().create({ name: 'one', description: 'x', private: true }))!;
    const ws = workspace();
    const head = ws.commit();
    expect(await pushTo(made.cloneUrl, ws.bundle('refs/heads/main'))).toEqual({ ok: true, head, news: true });
    expect(onServer('one', 'main')).toBe(head);
    expect(await pushTo(made.cloneUrl, ws.bundle('refs/heads/main'))).toEqual({ ok: true, head, news: false });
    const next = ws.commit();
    expect(await pushTo(made.cloneUrl, ws.bundle('refs/heads/main'))).toEqual({ ok: true, head: next, news: true });
  });

  it('brings every branch and tag where everything is wanted', async () => {
    github.make('two');
    const ws = workspace();
    const main = ws.commit();
    ws.git('tag', 'v1');
    ws.git('switch', '-qc', 'side/x');
    const side = ws.commit();
    const url = (await client().find({ owner: github.login, name: 'two' }))!.cloneUrl;
    expect(await pushTo(url, ws.bundle('--branches', '--tags'), { everything: true })).toMatchObject({ ok: true, head: main });
    expect([onServer('two', 'main'), onServer('two', 'side/x'), onServer('two', 'v1')]).toEqual([main, side, main]);
  });

  it('never overwrites commits that the server has and the workspace has not', async () => {
    github.make('three');
    const url = (await client().find({ owner: github.login, name: 'three' }))!.cloneUrl;
    const theirs = workspace();
    const head = theirs.commit();
    await pushTo(url, theirs.bundle('refs/heads/main'));
    const ours = workspace();
    ours.commit();
    expect(await pushTo(url, ours.bundle('refs/heads/main'))).toEqual({ ok: false, why: expect.stringContaining('Nothing was overwritten') });
    expect(onServer('three', 'main')).toBe(head);
  });

  it('says that a wrong token is refused, and does not say the token', async () => {
    github.make('four');
    const url = (await client().find({ owner: github.login, name: 'four' }))!.cloneUrl;
    const ws = workspace();
    ws.commit();
    const refused = await pushTo(url, ws.bundle('refs/heads/main'), { token: 'ghp_secret_wrong' });
    expect(refused).toMatchObject({ ok: false, why: expect.stringMatching(/may not write/) });
    expect(JSON.stringify(refused)).not.toContain('ghp_secret_wrong');
  });

  it('runs no hook and reads no setting of anybody', async () => {
    github.make('five');
    const url = (await client().find({ owner: github.login, name: 'five' }))!.cloneUrl;
    const ws = workspace();
    const marker = join(ws.root, 'ran');
    // in the repository, in its template, and where a HOME of the workspace would be
    writeFileSync(join(ws.root, 'w/.git/hooks/pre-push'), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    ws.git('config', 'core.sshCommand', `touch ${marker}`);
    ws.git('config', 'url.http://127.0.0.1:1/.insteadOf', url);
    ws.git('config', 'http.proxy', 'http://127.0.0.1:1');
    writeFileSync(join(ws.root, '.gitconfig'), '[http]\n\tproxy = http://127.0.0.1:1\n');
    const head = ws.commit();
    expect(await pushTo(url, ws.bundle('refs/heads/main'))).toEqual({ ok: true, head, news: true });
    expect(existsSync(marker)).toBe(false);
  });

  it('says that a file is no bundle', async () => {
    const ws = workspace();
    const file = join(ws.root, 'x');
    writeFileSync(file, 'not a bundle');
    expect(await pushTo('http://127.0.0.1:9/ann/x.git', file)).toEqual({ ok: false, why: expect.stringContaining('could not be read') });
  });

  it('leaves nothing behind where temporary files are', async () => {
    const before = execFileSync('ls', [tmpdir()], { encoding: 'utf8' }).match(/fetch-push-/g)?.length ?? 0;
    const ws = workspace();
    ws.commit();
    await pushTo('http://127.0.0.1:9/ann/x.git', ws.bundle('refs/heads/main'));
    expect(execFileSync('ls', [tmpdir()], { encoding: 'utf8' }).match(/fetch-push-/g)?.length ?? 0).toBe(before);
  });
});

describe('the API', () => {
  it('makes a repository, finds it, and knows whether anything was pushed to it', async () => {
    const made = (await client().create({ name: 'six', description: 'd', private: false }))!;
    expect(made).toMatchObject({ owner: 'ann', name: 'six', private: false, cloneUrl: expect.stringMatching(/\/ann\/six\.git$/) });
    expect(await client().create({ name: 'six', description: 'd', private: false })).toBeNull();
    expect(await client().find({ owner: 'ann', name: 'nothing' })).toBeNull();
    expect(await client().isEmpty(made)).toBe(true);
    expect(await client().login()).toBe('ann');
  });

  it.each([
    [{ status: 401 }, /has expired/],
    [{ status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1800000000' } }, /no more requests.*08:00 UTC/],
    [{ status: 403, body: { message: 'Resource not accessible' } }, /Resource not accessible.*scope repo/],
    [{ status: 422, body: { message: 'Bad name.', errors: [{ message: 'name is too long' }] } }, /422: Bad name; name is too long/],
    [{ status: 502 }, /GitHub answered 502/],
  ])('%j becomes a sentence', async (failure, why) => {
    github.failures.push(failure);
    await expect(client().create({ name: 'seven', description: '', private: true })).rejects.toThrow(why);
  });

  it('being away is told apart from a refusal', async () => {
    const away = createGitHub({ token: 'x', apiUrl: 'http://127.0.0.1:9', signal });
    await expect(away.login()).rejects.toMatchObject({ name: 'GitHubAway', message: expect.stringContaining('cannot be reached at 127.0.0.1:9') });
  });

  it('gets the token in a header and never in an address', () => {
    expect(github.requests.join('\n')).not.toContain(github.token);
  });
});
