import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandResult } from '../../../src/adapters/kennel/kennel.ts';
import { childEnvironment } from '../../../src/config.ts';
import { startTestKennel, type TestKennel } from '../../support/docker.ts';
import { IS_ROOT } from '../../support/other-user.ts';
import { until } from '../../support/until.ts';

let at: TestKennel;
beforeAll(async () => {
  if (IS_ROOT) at = await startTestKennel();
}, 600_000);
afterAll(() => at?.close());

/** git as a person types it, with no settings that would forgive anything. */
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...childEnvironment({}), HOME: at.home, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
  }).trim();

const sh = (workspace: string, script: string): Promise<CommandResult> =>
  at.kennel.command({ workspace, argv: ['sh', '-c', script], timeoutMs: 60_000, maxOutput: 20_000, label: 'test' });

const AS_ADA = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
const COMMIT = `git ${AS_ADA.join(' ')} commit -qm`;

/** A repository as root makes one. */
function repository(): string {
  const folder = at.workspace();
  git(folder, 'init', '-q', '-b', 'main');
  writeFileSync(join(folder, 'README.md'), 'first\n');
  git(folder, 'add', '.');
  git(folder, ...AS_ADA, 'commit', '-qm', 'first');
  return folder;
}

describe.runIf(IS_ROOT)('a workspace of root', () => {
  it('can be changed inside of containers, and git of root goes on without a word about its owner', async () => {
    const folder = repository();
    const made = await sh(folder, `echo more >> README.md; echo new > new.txt; git add . && ${COMMIT} second && id -u`);
    expect(made).toMatchObject({ code: 0, stdout: '1000\n' });
    expect(git(folder, 'log', '--format=%s').split('\n')).toEqual(['second', 'first']);
    expect(git(folder, 'show', '--stat', '--format=%s')).toContain('new.txt');
    // and back: what root commits, containers read and go on from
    writeFileSync(join(folder, 'root.txt'), 'root\n');
    git(folder, 'add', '.');
    git(folder, ...AS_ADA, 'commit', '-qm', 'third');
    expect((await sh(folder, 'git log --format=%s')).stdout).toBe('third\nsecond\nfirst\n');
  });

  it('lets an agent change what root added meanwhile, also below folders that are closed to others', async () => {
    const folder = repository();
    await sh(folder, 'mkdir theirs; chmod 700 theirs');
    mkdirSync(join(folder, 'theirs/deep'));
    for (const path of ['added.txt', 'theirs/deep/added.txt'])
      writeFileSync(join(folder, path), 'root\n', { mode: 0o600 });
    mkdirSync(join(at.home, 'run', 'gate'), { recursive: true });
    const runFolder = join(at.home, 'run');
    const prompt = `append added.txt agent; append theirs/deep/added.txt agent; run git add . && ${COMMIT} theirs`;
    const spec = {
      version: 1 as const,
      taskId: 'owner',
      step: 1,
      harness: 'practice' as const,
      sessionId: null,
      model: null,
      permissions: 'run' as const,
    };
    await at.kennel.start({ spec: { ...spec, prompt, holdMs: 60_000 }, runFolder, workspace: folder, env: {} });
    await until(
      'the agent has ended',
      async () => readFileSync(join(runFolder, 'log.ndjson'), 'utf8').includes('"type":"ended"'),
      60_000,
    );
    for (const path of ['added.txt', 'theirs/deep/added.txt'])
      expect(readFileSync(join(folder, path), 'utf8')).toBe('root\nagent\n');
    expect(git(folder, 'log', '-1', '--format=%s')).toBe('theirs');
    await at.kennel.remove('owner');
  }, 120_000);

  it('has a repository of root also when a container has made it', async () => {
    const folder = at.workspace();
    const author = { name: 'Fetch', email: 'fetch@localhost' };
    const made = await at.kennel.workspaceOp(folder, {
      op: 'create',
      template: 'empty',
      name: 'made',
      description: '',
      git: true,
      author,
    });
    expect(made.ok).toBe(true);
    expect(git(folder, 'log', '--format=%an')).toBe('Fetch');
  });

  it('gives away nothing outside: neither what its links lead to, nor files that have a name elsewhere', async () => {
    const folder = repository();
    const outside = join(at.home, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret'), 'mine');
    linkSync(join(outside, 'secret'), join(folder, 'linked'));
    symlinkSync(outside, join(folder, 'folder'));
    symlinkSync(join(outside, 'secret'), join(folder, 'file'));
    await sh(folder, 'true');
    for (const path of [outside, join(outside, 'secret')]) expect(statSync(path).uid).toBe(0);
  });
});

describe.runIf(IS_ROOT)('a workspace of somebody else, served by root', () => {
  it('is worked on as its owner: nothing in it changes hands', async () => {
    const folder = at.workspace();
    writeFileSync(join(folder, 'a.txt'), 'a\n');
    for (const path of [folder, join(folder, 'a.txt')]) chownSync(path, 1234, 1234);
    chmodSync(folder, 0o700);
    const ran = await sh(folder, 'echo b >> a.txt; touch new.txt; id -u; whoami');
    expect(ran).toMatchObject({ code: 0, stdout: '1234\nkennel\n' });
    for (const name of ['a.txt', 'new.txt', '.']) expect(statSync(join(folder, name)).uid, name).toBe(1234);
  });
});
