import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pushBundle } from '../../../src/adapters/github/push.ts';
import { accountOf, createRepository, findRepository, isEmpty } from '../../../src/adapters/github/repositories.ts';
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
const access = (token: string | undefined = github.token) => ({ token, apiUrl: github.apiUrl, signal });
const create = (name: string, hidden = true) => createRepository(access(), { name, description: 'd', private: hidden });
const find = (name: string) => findRepository(access(), { owner: 'ann', name });

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
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', join(root, 'w'), ...args], { env, encoding: 'utf8' }).trim();
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
const onServer = (name: string, ref: string) =>
  execFileSync('git', ['-C', github.folder(name), 'rev-parse', ref], { encoding: 'utf8' }).trim();

describe('a push from a bundle', () => {
  it('brings the branch to the server, and a second time says that nothing was new', async () => {
    const made = (await create('one'))!;
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
    const url = (await find('two'))!.cloneUrl;
    expect(await pushTo(url, ws.bundle('--branches', '--tags'), { everything: true })).toMatchObject({
      ok: true,
      head: main,
    });
    expect([onServer('two', 'main'), onServer('two', 'side/x'), onServer('two', 'v1')]).toEqual([main, side, main]);
  });

  it('never overwrites commits that the server has and the workspace has not', async () => {
    github.make('three');
    const url = (await find('three'))!.cloneUrl;
    const theirs = workspace();
    const head = theirs.commit();
    await pushTo(url, theirs.bundle('refs/heads/main'));
    const ours = workspace();
    ours.commit();
    expect(await pushTo(url, ours.bundle('refs/heads/main'))).toEqual({
      ok: false,
      why: expect.stringContaining('Nothing was overwritten'),
      ahead: { head, bundle: expect.any(Buffer) },
    });
    expect(onServer('three', 'main')).toBe(head);
  });

  it('says that a wrong token is refused, and does not say the token', async () => {
    github.make('four');
    const url = (await find('four'))!.cloneUrl;
    const ws = workspace();
    ws.commit();
    const refused = await pushTo(url, ws.bundle('refs/heads/main'), { token: 'ghp_secret_wrong' });
    expect(refused).toMatchObject({ ok: false, why: expect.stringMatching(/may not write/) });
    expect(JSON.stringify(refused)).not.toContain('ghp_secret_wrong');
  });

  it('runs no hook and reads no setting of anybody', async () => {
    github.make('five');
    const url = (await find('five'))!.cloneUrl;
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

  it('is refused for a branch that is at another commit than was agreed to', async () => {
    github.make('agreed');
    const url = (await find('agreed'))!.cloneUrl;
    const ws = workspace();
    const commit = ws.commit();
    ws.commit();
    expect(await pushTo(url, ws.bundle('refs/heads/main'), { commit })).toEqual({
      ok: false,
      why: expect.stringContaining('other commits at this moment'),
    });
    expect(() => onServer('agreed', 'main')).toThrow();
  });

  it('looks for secrets only in what GitHub does not have, in every commit of it, also where its own branches have gone on', async () => {
    github.make('secrets');
    const url = (await find('secrets'))!.cloneUrl;
    const key = `ghp_${'aB3dE6gH9'.repeat(4)}`;
    const theirs = workspace();
    theirs.commit();
    // GitHub has this key already: nothing is lost by a branch that has it, too
    writeFileSync(join(theirs.root, 'w/old.env'), key);
    const shared = theirs.commit();
    execFileSync('git', ['-C', join(theirs.root, 'w'), 'push', '-q', github.folder('secrets'), 'main']);
    const ours = workspace();
    ours.git('fetch', '-q', join(theirs.root, 'w'), 'main');
    ours.git('switch', '-qc', 'side', shared);
    theirs.commit();
    execFileSync('git', ['-C', join(theirs.root, 'w'), 'push', '-q', github.folder('secrets'), 'main']);
    ours.commit();
    expect(await pushTo(url, ours.bundle('refs/heads/side'), { branch: 'side' })).toMatchObject({ ok: true });
    writeFileSync(join(ours.root, 'w/new.env'), `a\n${key}\n`);
    const bad = ours.commit();
    rmSync(join(ours.root, 'w/new.env'));
    ours.commit();
    expect(await pushTo(url, ours.bundle('refs/heads/side'), { branch: 'side' })).toEqual({
      ok: false,
      why: expect.stringContaining(`- new.env:2: a GitHub token (commit ${bad.slice(0, 7)})`),
    });
    // as a branch of its own in a publication of everything
    expect(await pushTo(url, ours.bundle('--branches'), { branch: 'side', everything: true })).toMatchObject({
      ok: false,
    });
    expect(onServer('secrets', 'side')).not.toBe(ours.git('rev-parse', 'HEAD'));
  });

  it('says that a file is no bundle', async () => {
    const ws = workspace();
    const file = join(ws.root, 'x');
    writeFileSync(file, 'not a bundle');
    expect(await pushTo('http://127.0.0.1:9/ann/x.git', file)).toEqual({
      ok: false,
      why: expect.stringContaining('could not be read'),
    });
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
    const made = (await create('six', false))!;
    expect(made).toMatchObject({
      owner: 'ann',
      name: 'six',
      private: false,
      cloneUrl: expect.stringMatching(/\/ann\/six\.git$/),
    });
    expect(await create('six', false)).toBeNull();
    expect(await find('nothing')).toBeNull();
    expect(await isEmpty(access(), made)).toBe(true);
    expect(await accountOf(access())).toBe('ann');
  });

  it.each([
    [{ status: 401 }, /has expired/],
    [
      { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1800000000' } },
      /no more requests.*08:00 UTC/,
    ],
    [{ status: 403, body: { message: 'Resource not accessible' } }, /Resource not accessible.*scope repo/],
    [
      { status: 422, body: { message: 'Bad name.', errors: [{ message: 'name is too long' }] } },
      /422: Bad name; name is too long/,
    ],
    [{ status: 502 }, /GitHub answered 502/],
  ])('%j becomes a sentence', async (failure, why) => {
    github.failures.push(failure);
    await expect(create('seven')).rejects.toThrow(why);
  });

  it('being away is told apart from a refusal', async () => {
    await expect(accountOf({ token: 'x', apiUrl: 'http://127.0.0.1:9', signal })).rejects.toMatchObject({
      name: 'GitHubAway',
      message: expect.stringContaining('cannot be reached at 127.0.0.1:9'),
    });
  });

  it('gets the token in a header and never in an address', () => {
    expect(github.requests.join('\n')).not.toContain(github.token);
  });
});
