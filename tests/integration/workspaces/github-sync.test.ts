import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKennel } from '../../../src/adapters/kennel/open-kennel.ts';
import { loadConfig } from '../../../src/config.ts';
import { syncTools } from '../../../src/tools/github/github.ts';
import { workspaceTools } from '../../../src/tools/workspace/workspaces.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';
import { dyingAfter, type ToolBench, toolBench } from '../../support/tool-bench.ts';
import { withinOneSecond } from '../../support/until.ts';

/** What `workspace_sync` does where GitHub has other commits, and where a file has a secret in it. */

const home = mkdtempSync(join(tmpdir(), 'fetch-sync-'));
const base = loadConfig({ FETCH_HOME: home }, {});
const kennel = openKennel(base);
const engine = await kennel.ready().then(
  () => true,
  () => false,
);

describe.skipIf(!engine)('workspace_sync', () => {
  let database: TestDatabase;
  let github: TestGitHub;
  let folder: string;
  let bench: ToolBench;
  let made = 0;

  beforeAll(async () => {
    [database, github] = await Promise.all([startTestDatabase(), startGitHub()]);
    folder = join(realpathSync(home), 'workspaces');
    mkdirSync(folder);
    const config = { ...base, GITHUB_API_URL: github.apiUrl, GH_TOKEN: github.token };
    await kennel.provide('tools', () => {});
    bench = await toolBench({
      db: database.store.db,
      config,
      kennel,
      host: 'local',
      workspacesFolder: folder,
      tools: [...syncTools, ...workspaceTools],
    });
  }, 600_000);
  afterAll(async () => {
    await database?.close();
    await github?.close();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  const gitIn = (at: string, ...args: string[]) =>
    execFileSync(
      'git',
      ['-c', 'safe.directory=*', '-c', 'user.name=Bo', '-c', 'user.email=bo@example.com', '-C', at, ...args],
      {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, HOME: home },
      },
    ).trim();
  const onServer = (name: string, ...args: string[]) => gitIn(github.folder(name), ...args);

  // in two parts, so that nobody takes this file for a leak
  const key = `ghp_${'aB3dE6gH9'.repeat(4)}`;

  /** A workspace that is on GitHub, a clone of somebody else, and ways to change both. */
  async function shared() {
    made += 1;
    const name = `sync-${made}`;
    expect((await bench.call('workspace_create', { name })).output).toContain('Published');
    const root = join(folder, name);
    const theirs = join(home, `theirs-${made}`);
    execFileSync('git', ['clone', '-q', github.folder(name), theirs]);
    const put = (file: string, content: string) => {
      const at = join(root, file);
      const parent = dirname(at);
      if (!existsSync(parent)) mkdirSync(parent);
      writeFileSync(at, content);
      if (process.getuid?.() === 0) for (const each of [parent, at]) lchownSync(each, 1000, 1000);
    };
    const commitByHand = (message: string, ...options: string[]) => {
      gitIn(root, 'add', '-A');
      gitIn(root, 'commit', '-qm', message, ...options);
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', '1000:1000', root]);
    };
    const they = (file: string, content: string, ...push: string[]) => {
      writeFileSync(join(theirs, file), content);
      gitIn(theirs, 'add', '-A');
      gitIn(theirs, 'commit', '-qm', `Theirs: ${file}`);
      gitIn(theirs, 'push', '-q', 'origin', 'main', ...push);
    };
    return {
      name,
      root,
      theirs,
      put,
      they,
      commitByHand,
      git: (...args: string[]) => gitIn(root, ...args),
      sync: (message = 'Ours') => bench.call('workspace_sync', { name, message }),
    };
  }

  it('puts our commits on top of those that came to GitHub meanwhile, with their authors and dates', async () => {
    const { name, root, put, they, git, commitByHand, sync } = await shared();
    they('theirs.txt', 'a\n');
    put('ours.txt', 'b\n');
    commitByHand('By hand, with a\n\nlonger text');
    const written = git('show', '-s', '--format=%an %ae %aI %B');
    put('more.txt', 'c\n');
    const synced = await sync();
    expect(synced).toMatchObject({
      ok: true,
      output: expect.stringMatching(
        /^Committed 1 file: .*, rebased on new commits from GitHub, pushed to origin\/main$/,
      ),
    });
    expect(git('log', '--format=%s', '-3').split('\n')).toEqual(['Ours', 'By hand, with a', 'Theirs: theirs.txt']);
    expect(git('show', '-s', '--format=%an %ae %aI %B', 'HEAD~1')).toBe(written);
    expect(git('status', '--porcelain')).toBe('');
    expect(readFileSync(join(root, 'theirs.txt'), 'utf8')).toBe('a\n');
    expect(onServer(name, 'rev-parse', 'main')).toBe(git('rev-parse', 'HEAD'));
    expect(git('rev-parse', 'origin/main')).toBe(git('rev-parse', 'HEAD'));
  });

  it('brings in what is new on GitHub where nothing is new here', async () => {
    const { they, git, root, sync } = await shared();
    they('theirs.txt', 'a\n');
    expect(await sync()).toMatchObject({
      ok: true,
      output: 'Nothing new to commit, rebased on new commits from GitHub, and origin/main was up to date',
    });
    expect(existsSync(join(root, 'theirs.txt'))).toBe(true);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('ends a conflict with the workspace and GitHub as they were, and names the file', async () => {
    const { name, put, they, git, sync } = await shared();
    put('same.txt', 'ours\n');
    they('same.txt', 'theirs\n');
    const before = onServer(name, 'rev-parse', 'main');
    const synced = await sync();
    expect(synced).toMatchObject({
      ok: false,
      output: expect.stringMatching(/^Committed 1 file.*conflict with ours in same\.txt\. The workspace is as it was/),
    });
    expect(git('status', '--porcelain', '--branch')).toMatch(/^## main/);
    expect(git('log', '--format=%s', '-1')).toBe('Ours');
    expect(git('show', 'HEAD:same.txt')).toBe('ours');
    expect(onServer(name, 'rev-parse', 'main')).toBe(before);
  });

  it('does not go on with a history that was rewritten on GitHub', async () => {
    const { name, put, they, git, sync } = await shared();
    put('ours.txt', 'a\n');
    expect(await sync()).toMatchObject({ ok: true });
    they('theirs.txt', 'b\n', '--force');
    const [here, there] = [git('rev-parse', 'HEAD'), onServer(name, 'rev-parse', 'main')];
    expect(await sync()).toMatchObject({
      ok: false,
      output: expect.stringContaining('its history there was rewritten'),
    });
    expect([git('rev-parse', 'HEAD'), onServer(name, 'rev-parse', 'main')]).toEqual([here, there]);
  });

  it('refuses commits that bring a file which is here and ignored', async () => {
    const { put, they, root, theirs, sync } = await shared();
    put('.gitignore', 'local.txt\n');
    expect(await sync('Ignore')).toMatchObject({ ok: true });
    gitIn(theirs, 'pull', '-q');
    put('local.txt', 'mine\n');
    writeFileSync(join(theirs, '.gitignore'), '');
    they('local.txt', 'theirs\n');
    expect(await sync()).toMatchObject({
      ok: false,
      output: expect.stringMatching(/They bring local\.txt, which is here already/),
    });
    expect(readFileSync(join(root, 'local.txt'), 'utf8')).toBe('mine\n');
  });

  it('repeats no merges of ours', async () => {
    const { put, they, git, commitByHand, sync } = await shared();
    git('switch', '-qc', 'side');
    put('side.txt', 'a\n');
    commitByHand('On the side');
    git('switch', '-q', 'main');
    gitIn(git('rev-parse', '--show-toplevel'), 'merge', '-q', '--no-ff', '-m', 'Merge', 'side');
    commitByHand('Nothing', '--allow-empty');
    they('theirs.txt', 'b\n');
    const head = git('rev-parse', 'HEAD');
    expect(await sync()).toMatchObject({ ok: false, output: expect.stringContaining('ours have merges') });
    expect(git('rev-parse', 'HEAD')).toBe(head);
  });

  it('is not stopped by a filter whose program is not in the container', async () => {
    const { put, they, git, commitByHand, sync } = await shared();
    put('.gitattributes', '*.bin filter=lfs\n');
    commitByHand('With git-lfs');
    for (const [key, value] of [
      ['required', 'true'],
      ['clean', 'git-lfs clean -- %f'],
      ['smudge', 'git-lfs smudge -- %f'],
    ] as const)
      git('config', `filter.lfs.${key}`, value);
    put('ours.txt', 'ours');
    they('theirs.bin', 'theirs\n');
    expect(await sync()).toMatchObject({ ok: true, output: expect.stringContaining('rebased on new commits') });
    expect(git('ls-tree', '--name-only', 'origin/main').split('\n')).toEqual(
      expect.arrayContaining(['ours.txt', 'theirs.bin']),
    );
  });

  it('searches a repository that has no commit yet', async () => {
    const root = join(folder, 'unborn');
    mkdirSync(root);
    gitIn(root, 'init', '-q', '-b', 'main');
    writeFileSync(join(root, 'a.txt'), key);
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', '1000:1000', root]);
    expect(await bench.call('workspace_sync', { name: 'unborn' })).toMatchObject({
      ok: false,
      output: expect.stringContaining('- a.txt:1: a GitHub token'),
    });
    writeFileSync(join(root, 'a.txt'), 'nothing\n');
    expect(await bench.call('workspace_sync', { name: 'unborn' })).toMatchObject({
      ok: true,
      output: expect.stringContaining('(new private repository'),
    });
  });

  it.each(['git-scan', 'git-commit', 'git-bundle', 'git-rebase', 'git-remote'])(
    'comes to the same end when the worker dies after %s',
    async (label) => {
      const { name, put, they, git, sync } = await shared();
      they('theirs.txt', 'a\n');
      put('ours.txt', 'b\n');
      const dying = dyingAfter(kennel, (what) => what === label);
      const callId = `call_dying_${made}`;
      await expect(bench.call('workspace_sync', { name, message: 'Ours' }, { callId, kennel: dying })).rejects.toThrow(
        'died',
      );
      expect(await bench.call('workspace_sync', { name, message: 'Ours' }, { callId })).toMatchObject({ ok: true });
      expect(git('log', '--format=%s', '-2').split('\n')).toEqual(['Ours', 'Theirs: theirs.txt']);
      expect(git('status', '--porcelain')).toBe('');
      expect(onServer(name, 'rev-parse', 'main')).toBe(git('rev-parse', 'HEAD'));
      expect(await sync()).toMatchObject({ ok: true, output: 'Nothing new to commit, and origin/main was up to date' });
    },
  );

  it('refuses what looks like a secret before it is committed, and names file and line, not the secret', async () => {
    const { name, put, git, sync } = await shared();
    const [before, head] = [onServer(name, 'rev-parse', 'main'), git('rev-parse', 'HEAD')];
    put('config/keys.js', `// keys\n\nexport const key = '${key}';\n`);
    const refused = await sync();
    expect(refused).toMatchObject({
      ok: false,
      output: expect.stringMatching(
        /^This looks like a secret, so nothing was pushed:\n- config\/keys\.js:3: a GitHub token\n[\s\S]*Nothing was committed, either\.$/,
      ),
    });
    expect(JSON.stringify(refused)).not.toContain(key);
    expect([git('rev-parse', 'HEAD'), onServer(name, 'rev-parse', 'main')]).toEqual([head, before]);
    expect(git('status', '--porcelain')).toBe('?? config/');
    put('config/keys.js', 'export const key = process.env.KEY;\n');
    expect(await sync()).toMatchObject({ ok: true });
  });

  it('refuses a secret that took the place of a text of its length in the second in which git looked at it', async () => {
    const { name, root, put, git, sync } = await shared();
    const before = onServer(name, 'rev-parse', 'main');
    await withinOneSecond(() => {
      put('keys.js', key.replace(/./g, 'x'));
      git('add', 'keys.js');
      execFileSync('chown', ['-R', `--reference=${root}`, root]);
      put('keys.js', key);
    });
    expect(await sync()).toMatchObject({ ok: false, output: expect.stringContaining('- keys.js:1: a GitHub token') });
    expect(onServer(name, 'rev-parse', 'main')).toBe(before);
  });

  it('refuses a secret that is in a commit only, and one that an attribute hides', async () => {
    const { name, put, git, commitByHand, sync } = await shared();
    const before = onServer(name, 'rev-parse', 'main');
    put('.gitattributes', '*.env -diff -text\n');
    put('a.env', `x\nTOKEN=${key}\n`);
    commitByHand('With the key');
    const commit = git('rev-parse', '--short=7', 'HEAD');
    put('a.env', 'x\nTOKEN=\n');
    const refused = await sync();
    expect(refused).toMatchObject({
      ok: false,
      output: expect.stringContaining(`- a.env:2: a GitHub token (commit ${commit})`),
    });
    expect(onServer(name, 'rev-parse', 'main')).toBe(before);
  });

  it('never pushes its own token, whatever it looks like', async () => {
    const { put, sync } = await shared();
    put('notes.md', `see ${github.token} here\n`);
    expect(await sync()).toMatchObject({
      ok: false,
      output: expect.stringContaining('- notes.md:1: a key of this installation'),
    });
  });

  it('leaves no container behind', async () => {
    expect((await kennel.list()).length).toBe(0);
  });
});
