import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKennel } from '../../../src/adapters/kennel/open-kennel.ts';
import { type Config, loadConfig } from '../../../src/config.ts';
import { activeWorkspace } from '../../../src/store/kennel/workspaces/workspaces.ts';
import { bringInTools } from '../../../src/tools/workspace/bring-in.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';
import { dyingAfter, type ToolBench, toolBench } from '../../support/tool-bench.ts';

/** Projects that exist already, from a server and from a folder of the host. */

const home = realpathSync(mkdtempSync(join(tmpdir(), 'fetch-bring-in-')));
const base = loadConfig({ FETCH_HOME: join(home, 'fetch') }, {});
const kennel = openKennel(base);
const engine = await kennel.ready().then(
  () => true,
  () => false,
);

const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'safe.directory=*', ...args], {
    cwd: folder,
    encoding: 'utf8',
  }).trim();

describe.skipIf(!engine)('a project that exists already', () => {
  let database: TestDatabase;
  let github: TestGitHub;
  let bench: ToolBench;
  let config: Config;
  const folder = join(home, 'fetch/workspaces');
  const shop = join(home, 'my shop');

  beforeAll(async () => {
    [database, github] = await Promise.all([startTestDatabase(), startGitHub()]);
    mkdirSync(folder, { recursive: true });
    mkdirSync(join(shop, 'src'), { recursive: true });
    git(shop, 'init', '-q', '-b', 'trunk');
    writeFileSync(join(shop, 'src/app.js'), 'one\n');
    git(shop, 'add', '-A');
    git(shop, 'commit', '-qm', 'first');
    git(shop, 'remote', 'add', 'origin', 'https://ada:secret@git.example.com/ada/shop.git');
    writeFileSync(join(shop, 'src/app.js'), 'two\n');
    github.make('private-shop');
    git(shop, 'push', '-q', github.folder('private-shop'), 'trunk:main');
    config = { ...base, GITHUB_API_URL: github.apiUrl };
    await kennel.provide('tools', () => {});
    bench = await toolBench({
      db: database.store.db,
      config,
      kennel,
      host: 'local',
      workspacesFolder: folder,
      tools: bringInTools,
    });
  }, 600_000);
  afterAll(async () => {
    await database?.close();
    await github?.close();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  it('comes in from a folder, which is not changed, and becomes the active workspace', async () => {
    const made = await bench.call('workspace_clone', { from: shop });
    expect(made).toMatchObject({ ok: true, output: expect.stringContaining(`Folder: ${folder}/my-shop`) });
    expect(readFileSync(join(folder, 'my-shop/src/app.js'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(shop, 'src/app.js'), 'utf8')).toBe('two\n');
    expect(git(join(folder, 'my-shop'), 'status', '--porcelain', '--branch')).toMatch(/^## trunk/);
    // it pushes to where the folder pushes, and the password stays behind
    expect(git(join(folder, 'my-shop'), 'remote', 'get-url', 'origin')).toBe('https://git.example.com/ada/shop.git');
    expect(await activeWorkspace(database.store.db, bench.chatId)).toEqual({ host: 'local', name: 'my-shop' });
  });

  it('says what of a folder is not in the copy: uncommitted work, submodules, content of Git LFS', async () => {
    const other = join(home, 'library');
    mkdirSync(other);
    git(other, 'init', '-q');
    git(other, 'commit', '-q', '--allow-empty', '-m', 'first');
    const rich = join(home, 'rich');
    mkdirSync(rich);
    git(rich, 'init', '-q', '-b', 'main');
    writeFileSync(join(rich, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n');
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n';
    writeFileSync(join(rich, 'model.bin'), pointer);
    writeFileSync(join(rich, 'notes.md'), pointer);
    git(rich, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, 'vendor/library');
    git(rich, 'add', '-A');
    git(rich, 'commit', '-qm', 'first');
    const whole = await bench.call('workspace_clone', { from: rich });
    expect(whole.output).toContain('Its submodules are empty: vendor/library. ');
    expect(whole.output).toContain('only what points to it: model.bin. ');
    expect(whole.output).not.toContain('not committed');
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f\ng']) writeFileSync(join(rich, name), name);
    writeFileSync(join(rich, 'notes.md'), 'changed\n');
    // a setting of the folder that runs a program
    git(rich, 'config', 'core.fsmonitor', `touch ${join(home, 'ran')}`);
    const { output } = await bench.call('workspace_clone', { from: rich, name: 'richer' });
    expect(output).toContain('Work that is not committed there is not in it: notes.md, a, b, c, d and 2 more.');
    expect(readdirSync(home)).not.toContain('ran');
    expect((await bench.call('workspace_clone', { from: shop, name: 'plain' })).output).not.toMatch(/submodule|LFS/);
  });

  it('is called archived where nothing can be pushed to it', async () => {
    github.make('old-shop', { archived: true });
    git(shop, 'push', '-q', github.folder('old-shop'), 'trunk:main');
    const from = `${github.apiUrl.replace('/api', '')}/ann/old-shop`;
    expect(await bench.call('workspace_clone', { from }, { config: { GH_TOKEN: github.token } })).toMatchObject({
      ok: true,
      output: expect.stringContaining('It is archived on GitHub: nothing can be pushed to it.'),
    });
  });

  it('comes in once, when the worker dies before it can say so', async () => {
    const dying = dyingAfter(kennel, (what) => what === 'profile');
    const args = { from: shop, name: 'once' };
    await expect(bench.call('workspace_clone', args, { callId: 'call_once', kennel: dying })).rejects.toThrow('died');
    expect(await bench.call('workspace_clone', args, { callId: 'call_once' })).toMatchObject({ ok: true });
    expect(await bench.call('workspace_clone', args)).toMatchObject({
      ok: false,
      output: expect.stringContaining('Choose another name'),
    });
    expect(readdirSync(join(folder, '.making'))).toEqual([]);
  });

  it('of others is private without GH_TOKEN, and comes in with it', async () => {
    const from = `${github.apiUrl.replace('/api', '')}/ann/private-shop`;
    expect(await bench.call('workspace_clone', { from })).toMatchObject({
      ok: false,
      output: expect.stringMatching(/is private\. For a private one, put in a GitHub token/),
    });
    expect(
      await bench.call('workspace_clone', { from }, { config: { GH_TOKEN: 'ghp_wrong_0123456789' } }),
    ).toMatchObject({
      ok: false,
      output: expect.stringContaining('the GitHub token may not read it'),
    });
    expect(await bench.call('workspace_clone', { from }, { config: { GH_TOKEN: github.token } })).toMatchObject({
      ok: true,
    });
    const inside = join(folder, 'private-shop');
    expect(readFileSync(join(inside, 'src/app.js'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(inside, '.git/config'), 'utf8')).not.toContain(github.token);
  });

  it.each([
    ['/nowhere/at/all', /There is no folder \/nowhere\/at\/all/],
    [home, /is not a git repository\. Make it one there: git init/],
    ['git@git.example.com:shop.git', /give the https address/],
    ['ext::sh -c id', /give the https address/],
    [
      'http://127.0.0.1:9/shop',
      /127\.0\.0\.1:9 is not on the public internet\. Clone it yourself, then say: open FOLDER/,
    ],
    ['http://localhost:9/shop', /is not on the public internet/],
    ['http://[::ffff:169.254.169.254]/shop', /is not on the public internet/],
    ['https://nowhere.invalid/shop', /nowhere\.invalid cannot be found/],
  ])('%s: says what is wrong', async (from, problem) => {
    const before = readdirSync(folder);
    expect(await bench.call('workspace_clone', { from, name: 'wrong' })).toMatchObject({
      ok: false,
      output: expect.stringMatching(problem),
    });
    expect(readdirSync(folder)).toEqual(before);
    expect(readdirSync(join(folder, '.making'))).toEqual([]);
  });

  it('that is among the workspaces is selected, not copied', async () => {
    expect(await bench.call('workspace_clone', { from: join(folder, 'my-shop') })).toMatchObject({
      ok: false,
      output: expect.stringContaining('select it'),
    });
  });
});
