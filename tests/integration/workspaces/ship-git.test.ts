import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { KennelDeps } from '../../../src/activities/activity-deps.ts';
import {
  adoptCommit,
  beginBranch,
  changesOfPass,
  headOfOwn,
  rebaseBranch,
  takePass,
} from '../../../src/activities/shipment/shipment-git.ts';
import { loadConfig } from '../../../src/config.ts';
import { conflictBranch, ownBranch, type Shipment } from '../../../src/store/kennel/shipments/shipments.ts';
import { bringTo, pushOwnBranch } from '../../../src/tools/github/bundle.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';
import { processKennel } from '../../support/process-kennel.ts';

/** What git does for a pull request, in a workspace on whose files somebody works, and a repository on a server. */

const home = mkdtempSync(join(tmpdir(), 'fetch-ship-'));
const signal = AbortSignal.timeout(600_000);
const author = { name: 'Fetch', email: 'fetch@localhost' };
let github: TestGitHub;
let deps: KennelDeps;
let shipment: Shipment;
let made = 0;

beforeAll(async () => {
  github = await startGitHub();
  const config = { ...loadConfig({ FETCH_HOME: home }, {}), GITHUB_API_URL: github.apiUrl, GH_TOKEN: github.token };
  deps = { config, kennel: processKennel() } as unknown as KennelDeps;
});
afterAll(async () => {
  await github.close();
  rmSync(home, { recursive: true, force: true });
});

const run = (at: string, ...args: string[]): string =>
  execFileSync('git', ['-C', at, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
  }).trim();
const folder = () => join(home, 'workspaces', shipment.workspace);
const git = (...args: string[]) => run(folder(), ...args);
const server = (...args: string[]) => run(github.folder(shipment.workspace), ...args);
const commit = (at: string, files: Record<string, string>, message: string): string => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(at, name), text);
  run(at, 'add', '-A');
  run(at, 'commit', '-qm', message);
  return run(at, 'rev-parse', 'HEAD');
};
const place = () => ({ kennel: deps.kennel, path: folder() });
const asking = () => ({ config: deps.config, signal });
const branches = () => ({ from: ownBranch(shipment), branch: shipment.branch, url: shipment.clone_url });

/** Somebody else commits to a branch on the server. */
function elsewhere(branch: string, files: Record<string, string>, message: string): string {
  const clone = mkdtempSync(join(home, 'clone-'));
  run(home, 'clone', '-q', '-b', branch, github.folder(shipment.workspace), clone);
  const head = commit(clone, files, message);
  run(clone, 'push', '-q', 'origin', branch);
  return head;
}

/** What an agent would have committed on the branch of its task. */
function agentWorks(task: { id: string; from_branch: string | null }, files: Record<string, string>): void {
  const tree = mkdtempSync(join(home, 'tree-'));
  git('worktree', 'add', '-q', '-b', `fetch/${task.id}`, tree, task.from_branch ?? ownBranch(shipment));
  commit(tree, files, 'fix');
  git('worktree', 'remove', '--force', tree);
}

beforeEach(async () => {
  made += 1;
  const workspace = `demo-${made}`;
  github.make(workspace);
  const at = join(home, 'workspaces', workspace);
  mkdirSync(at, { recursive: true });
  shipment = { id: `shp_${made}`, workspace, title: 'Add b', branch: 'add-b', base: 'main' } as Shipment;
  run(at, 'init', '-q', '-b', 'main');
  commit(at, { 'a.txt': 'one\n', 'list.txt': '1\n2\n3\n4\n5\n6\n7\n8\n' }, 'first');
  run(at, 'push', '-q', github.folder(workspace), 'main');
  shipment.commit = commit(at, { 'b.txt': 'b\n' }, 'Add b');
  shipment.clone_url = `${github.apiUrl.replace('/api', '')}/ann/${workspace}.git`;
  // the owner works on, with files that are not committed
  commit(at, { 'c.txt': 'c\n' }, 'Later');
  writeFileSync(join(at, 'a.txt'), 'half done\n');
  expect(await beginBranch(deps, shipment, signal)).toBeNull();
  const pushed = await pushOwnBranch(asking(), place(), { ...branches(), base: 'main', commit: shipment.commit });
  expect(pushed).toMatchObject({ ok: true, head: shipment.commit, news: true });
  shipment.head = shipment.commit;
});

/** The files and the branch of the owner are as they were. */
function ownerUndisturbed(): void {
  expect(git('status', '--porcelain')).toBe('M a.txt');
  expect([git('symbolic-ref', 'HEAD'), git('log', '-1', '--format=%s')]).toEqual(['refs/heads/main', 'Later']);
}

describe('the commits of a pull request', () => {
  it('are pushed without those that came later, and a second time nothing is', async () => {
    expect(server('log', '--format=%s', 'add-b')).toBe('Add b\nfirst');
    expect(await beginBranch(deps, shipment, signal)).toBeNull();
    expect(await pushOwnBranch(asking(), place(), branches())).toMatchObject({ ok: true, news: false });
    ownerUndisturbed();
  });

  it('are pushed without the hooks of the project, which would see the token and could refuse', async () => {
    const hooks = join(folder(), '.husky/_');
    mkdirSync(hooks, { recursive: true });
    const trace = join(home, `hooks-${made}`);
    for (const hook of ['pre-push', 'pre-commit', 'reference-transaction', 'post-checkout'])
      writeFileSync(join(hooks, hook), `#!/bin/sh\nenv >> ${trace}\nexit 1\n`, { mode: 0o755 });
    agentWorks({ id: 'tsk_a', from_branch: null }, { 'd.txt': 'd\n' });
    git('config', 'core.hooksPath', '.husky/_');
    const pushed = await pushOwnBranch(asking(), place(), { ...branches(), from: 'fetch/tsk_a' });
    expect(pushed).toMatchObject({ ok: true, news: true });
    expect(server('log', '--format=%s', 'add-b')).toBe('fix\nAdd b\nfirst');
    expect(existsSync(trace)).toBe(false);
  });

  it('get what an agent has made, once', async () => {
    const task = { id: 'tsk_1', from_branch: ownBranch(shipment) };
    agentWorks(task, { 'b.txt': 'better\n' });
    expect(await changesOfPass(deps, shipment, task, signal)).toMatch(/-b\n\+better/);
    for (const _ of [1, 2]) expect(await takePass(deps, shipment, task, { signal, author })).toBeNull();
    const head = await headOfOwn(deps, shipment, signal);
    expect(git('log', '-1', '--format=%s', head)).toBe('fix');
    expect(await pushOwnBranch(asking(), place(), { ...branches(), lease: shipment.head! })).toMatchObject({
      ok: true,
    });
    expect(server('rev-parse', 'add-b')).toBe(head);
    ownerUndisturbed();
  });

  it('never take the place of what a person has pushed meanwhile', async () => {
    const task = { id: 'tsk_1', from_branch: ownBranch(shipment) };
    agentWorks(task, { 'b.txt': 'better\n' });
    expect(await takePass(deps, shipment, task, { signal, author })).toBeNull();
    const theirs = elsewhere('add-b', { 'd.txt': 'd\n' }, 'By hand');
    const pushed = await pushOwnBranch(asking(), place(), { ...branches(), lease: shipment.head! });
    expect(pushed).toMatchObject({ ok: false, why: expect.stringContaining('Nothing was overwritten') });
    expect(server('rev-parse', 'add-b')).toBe(theirs);
    const brought = await bringTo(asking(), place(), { ...branches(), name: 'add-b' });
    if (!brought.ok) throw new Error(brought.why);
    expect(brought.head).toBe(theirs);
    expect(await adoptCommit(deps, shipment, brought, signal)).toBeNull();
    expect(await headOfOwn(deps, shipment, signal)).toBe(theirs);
    ownerUndisturbed();
  });

  it('go on from a branch that a person has rewritten', async () => {
    const clone = mkdtempSync(join(home, 'clone-'));
    run(home, 'clone', '-q', '-b', 'main', github.folder(shipment.workspace), clone);
    const theirs = commit(clone, { 'b.txt': 'rewritten\n' }, 'Another b');
    run(clone, 'push', '-q', '--force', 'origin', 'main:add-b');
    const brought = await bringTo(asking(), place(), { ...branches(), name: 'add-b' });
    if (!brought.ok) throw new Error(brought.why);
    expect(await adoptCommit(deps, shipment, brought, signal)).toBeNull();
    expect(await headOfOwn(deps, shipment, signal)).toBe(theirs);
  });

  it('stand on top of a base that has moved, commit by commit', async () => {
    const base = elsewhere('main', { 'list.txt': '0\n1\n2\n3\n4\n5\n6\n7\n8\n' }, 'Begin at zero');
    const brought = await bringTo(asking(), place(), { ...branches(), name: 'main' });
    if (!brought.ok) throw new Error(brought.why);
    for (const _ of [1, 2]) expect(await rebaseBranch(deps, shipment, brought, { signal, author })).toBe('done');
    const head = await headOfOwn(deps, shipment, signal);
    expect(git('log', '--format=%s %an', head)).toBe('Add b Ada\nBegin at zero Ada\nfirst Ada');
    expect(git('rev-parse', `${head}^`)).toBe(base);
    const pushed = await pushOwnBranch(asking(), place(), { ...branches(), commit: head, lease: shipment.head! });
    expect(pushed).toMatchObject({ ok: true, head });
    expect(server('rev-parse', 'add-b')).toBe(head);
    ownerUndisturbed();
  });

  it('that conflict are prepared for an agent, and its solution stands on top of the base', async () => {
    const base = elsewhere('main', { 'b.txt': 'their b\n' }, 'Their b');
    const brought = await bringTo(asking(), place(), { ...branches(), name: 'main' });
    if (!brought.ok) throw new Error(brought.why);
    for (const _ of [1, 2]) expect(await rebaseBranch(deps, shipment, brought, { signal, author })).toBe('conflict');
    expect(await headOfOwn(deps, shipment, signal)).toBe(shipment.commit);
    expect(git('show', `${conflictBranch(shipment)}:b.txt`)).toMatch(/^<<<<<<< .*\ntheir b\n=======\nb\n>>>>>>> /);
    const lazy = { id: 'tsk_1', from_branch: conflictBranch(shipment) };
    agentWorks(lazy, { 'other.txt': 'x\n' });
    expect(await takePass(deps, shipment, lazy, { signal, author })).toMatch(/markers are left/);
    const task = { id: 'tsk_2', from_branch: conflictBranch(shipment) };
    agentWorks(task, { 'b.txt': 'both\n' });
    const heads = new Set<string>();
    for (const _ of [1, 2]) {
      expect(await takePass(deps, shipment, task, { signal, author })).toBeNull();
      heads.add(await headOfOwn(deps, shipment, signal));
    }
    expect(heads.size).toBe(1);
    const [head] = [...heads];
    expect([git('rev-parse', `${head}^`), git('show', `${head}:b.txt`)]).toEqual([base, 'both']);
    const pushed = await pushOwnBranch(asking(), place(), { ...branches(), commit: head!, lease: shipment.head! });
    expect(pushed).toMatchObject({ ok: true, head });
    ownerUndisturbed();
  });

  it('with a secret are not pushed', async () => {
    const task = { id: 'tsk_1', from_branch: ownBranch(shipment) };
    agentWorks(task, { 'b.txt': `key = "ghp_${'aB3dE6gH9'.repeat(4)}"\n` });
    expect(await takePass(deps, shipment, task, { signal, author })).toBeNull();
    expect(await pushOwnBranch(asking(), place(), branches())).toMatchObject({ ok: false });
    expect(server('rev-parse', 'add-b')).toBe(shipment.commit);
  });
});
