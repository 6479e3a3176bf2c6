import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitRefresher } from '../../../src/activities/host/git-state.ts';
import { MapMaker } from '../../../src/activities/host/maps.ts';
import { openKennel } from '../../../src/adapters/kennel/open-kennel.ts';
import { type Config, loadConfig } from '../../../src/config.ts';
import { hostOfChat, listHosts, reportHost } from '../../../src/store/kennel/hosts.ts';
import { dueMap, mapOfChat } from '../../../src/store/kennel/workspaces/repository-maps.ts';
import { activeWorkspace, recordWorkspaces, workspacesOf } from '../../../src/store/kennel/workspaces/workspaces.ts';
import { syncTools } from '../../../src/tools/github/github.ts';
import { appTools } from '../../../src/tools/workspace/apps.ts';
import { commandOf } from '../../../src/tools/workspace/direct-edit.ts';
import { fileTools } from '../../../src/tools/workspace/files.ts';
import { gitTools } from '../../../src/tools/workspace/git.ts';
import { shellTools } from '../../../src/tools/workspace/shell.ts';
import { workspaceTools } from '../../../src/tools/workspace/workspaces.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';
import { dyingAfter, type ToolBench, toolBench } from '../../support/tool-bench.ts';
import { until } from '../../support/until.ts';

/** The tools on real containers, as their worker runs them. */

const home = mkdtempSync(join(tmpdir(), 'fetch-kennel-tools-'));
const base = loadConfig({ FETCH_HOME: home }, {});
const kennel = openKennel(base);
const engine = await kennel.ready().then(
  () => true,
  () => false,
);
const tools = [...workspaceTools, ...fileTools, ...shellTools, ...appTools, ...gitTools, ...syncTools];

describe.skipIf(!engine)('tools on workspaces', () => {
  let database: TestDatabase;
  let github: TestGitHub;
  let folder: string;
  let bench: ToolBench;
  const more: ToolBench[] = [];
  let config: Config;

  const newBench = async (): Promise<ToolBench> => {
    const made = await toolBench({
      db: database.store.db,
      config,
      kennel,
      host: 'local',
      workspacesFolder: folder,
      tools,
    });
    more.push(made);
    return made;
  };

  beforeAll(async () => {
    [database, github] = await Promise.all([startTestDatabase(), startGitHub()]);
    folder = join(realpathSync(home), 'workspaces');
    mkdirSync(folder);
    config = { ...base, GITHUB_API_URL: github.apiUrl };
    await kennel.provide('tools', () => {});
    bench = await newBench();
    const made = await bench.call('workspace_create', { name: 'app' });
    expect(made).toMatchObject({ ok: true });
  }, 600_000);
  afterAll(async () => {
    await database?.close();
    await github?.close();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  it('wait for the lease of their host, and do nothing without it', async () => {
    const write = tools.find(({ name }) => name === 'file_write')!;
    const args = { path: 'held.txt', content: 'x', workspace: 'app' } as never;
    const from = Date.now() + 500;
    expect(
      await write.run(args, { ...bench.context('call_back'), lease: { held: () => Date.now() > from } }),
    ).toMatchObject({ ok: true });
    rmSync(join(folder, 'app/held.txt'));
    expect(await write.run(args, { ...bench.context('call_away'), lease: { held: () => false } })).toMatchObject({
      ok: false,
      output: expect.stringMatching(/^The host local has lost touch with the database, so nothing was done/),
    });
    expect(existsSync(join(folder, 'app/held.txt'))).toBe(false);
  });

  const path = (...parts: string[]) => join(folder, ...parts);
  const git = (workspace: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'safe.directory=*', '-C', path(workspace), ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: home },
    }).trim();
  const put = (file: string, content: string) => {
    writeFileSync(path(file), content);
    if (process.getuid?.() === 0) lchownSync(path(file), 1000, 1000);
  };

  describe('workspaces', () => {
    it('are made from a template, listed, selected and told about', async () => {
      const chat = await newBench();
      const made = await chat.call('workspace_create', { name: 'web-1', template: 'node', description: 'A test' });
      expect(made).toMatchObject({
        ok: true,
        output: expect.stringMatching(/^Created web-1 \(JavaScript|^Created web-1 \(TypeScript/),
        metadata: { active: true, template: 'node' },
      });
      expect(made.output).toContain('git initialized');
      expect(existsSync(path('web-1/package.json'))).toBe(true);
      expect(git('web-1', 'log', '--oneline').split('\n')).toHaveLength(1);
      const list = await chat.call('workspace_list', {});
      expect(list.output).toMatch(/workspaces: .*web-1 \(active, (Java|Type)Script, main\)/);
      expect(await chat.call('workspace_select', { name: 'APP' })).toMatchObject({
        ok: true,
        output: expect.stringMatching(/^Switched to app \(.*on main\)/),
      });
      expect(await activeWorkspace(database.store.db, chat.chatId)).toEqual({ host: 'local', name: 'app' });
      put('web-1/new.txt', 'x');
      const status = await chat.call('workspace_status', { name: 'web-1' });
      expect(status.output).toMatch(
        /^web-1 \((Java|Type)Script.*\) - on main - 1 untracked\nweb-1: nobody was asked about a host yet\.$/,
      );
      expect(status.metadata).toMatchObject({ name: 'web-1', profile: { git: { untracked: 1, modified: 0 } } });
    });

    it('get a map of their repository, once for a commit, in the background', async () => {
      const chat = await newBench();
      await chat.call('workspace_select', { name: 'web-1' });
      const { db } = database.store;
      const maps = new MapMaker({ db, host: 'local', kennel, log: pino({ enabled: false }) });
      await maps.begin();
      expect(await mapOfChat(db, chat.chatId)).toBeNull();
      // nobody has worked there for a while
      await db
        .updateTable('workspaces')
        .set({ seen_at: new Date(Date.now() - 60_000) })
        .where('name', '=', 'web-1')
        .execute();
      await maps.begin();
      const map = await until('the map is made', () => mapOfChat(db, chat.chatId));
      expect(map).toMatchObject({
        workspace: 'web-1',
        head: git('web-1', 'rev-parse', 'HEAD'),
        lines: expect.arrayContaining(['src/greeting.js: greeting']),
      });
      expect(await dueMap(db, 'local', new Set())).toBeNull();
    });

    it('are looked at again in the background, so that branch and changes are right without a tool', async () => {
      const chat = await newBench();
      await chat.call('workspace_select', { name: 'web-1' });
      const { db } = database.store;
      const looks = new GitRefresher({ db, host: 'local', kennel, log: pino({ enabled: false }) });
      const seen = async () =>
        (await workspacesOf(db, 'local')).find(({ name }) => name === 'web-1')!.profile?.git?.branch;
      const age = (seconds: number) =>
        db
          .updateTable('workspaces')
          .set({ seen_at: new Date(Date.now() - seconds * 1000) })
          .where('name', '=', 'web-1')
          .execute();
      await age(90);
      git('web-1', 'checkout', '-q', '-b', 'elsewhere');
      await looks.begin();
      await until('the other branch is seen', async () => (await seen()) === 'elsewhere');
      git('web-1', 'checkout', '-q', 'main');
      await age(90);
      await until('the branch is seen again', async () => {
        await looks.begin();
        return (await seen()) === 'main';
      });
    });

    it('defect 5, defect 25: are active for a chat of their own', async () => {
      const [one, two] = [await newBench(), await newBench()];
      await one.call('workspace_select', { name: 'app' });
      expect(await two.call('file_list', {})).toMatchObject({
        ok: false,
        output: expect.stringContaining('No workspace is active. Select one of:'),
      });
    });

    it('that a person put there are found, and links are not', async () => {
      mkdirSync(path('by-hand'));
      writeFileSync(path('by-hand/notes.txt'), 'hello\n');
      symlinkSync('/etc', path('evil'));
      const list = await bench.call('workspace_list', {});
      expect(list.output).toContain('by-hand');
      expect(list.output).toContain('Left out: "evil": it is a link');
      expect(await bench.call('file_read', { path: 'notes.txt', workspace: 'by-hand' })).toMatchObject({
        ok: true,
        output: expect.stringContaining('hello'),
      });
      expect(await bench.call('file_read', { path: 'passwd', workspace: 'evil' })).toMatchObject({
        ok: false,
        output: expect.stringContaining('it is a link'),
      });
      expect(await bench.call('workspace_select', { name: 'evil' })).toMatchObject({ ok: false });
      rmSync(path('evil'));
    });

    it('of a misspelt name are suggested', async () => {
      expect(await bench.call('workspace_select', { name: 'ap' })).toEqual({
        ok: false,
        output: expect.stringMatching(/no workspace "ap".*Did you mean app/),
      });
    });

    it('of a taken name are refused, whatever the case', async () => {
      expect(await bench.call('workspace_create', { name: 'App' })).toMatchObject({
        ok: false,
        output: expect.stringContaining('app'),
      });
    });

    it('are made once, when the worker dies before it can say so', async () => {
      // the last operation before the end looks into the finished workspace
      const dying = dyingAfter(kennel, (what) => what === 'profile');
      await expect(
        bench.call('workspace_create', { name: 'once' }, { callId: 'call_once', kennel: dying }),
      ).rejects.toThrow('died');
      expect(await bench.call('workspace_create', { name: 'once' }, { callId: 'call_once' })).toMatchObject({
        ok: true,
        output: expect.stringMatching(/^Created once/),
      });
      expect(await bench.call('workspace_create', { name: 'once' }, { callId: 'call_other' })).toMatchObject({
        ok: false,
      });
      expect(git('once', 'log', '--oneline').split('\n')).toHaveLength(1);
      expect(readdirSync(path('.making'))).toEqual([]);
    });

    it('are deleted into the trash, but not the active one and not under a task', async () => {
      const { db } = database.store;
      await bench.call('workspace_select', { name: 'app' });
      expect(await bench.call('workspace_delete', { name: 'app', confirm: true })).toEqual({
        ok: false,
        output: expect.stringContaining('active'),
      });
      await bench.call('workspace_create', { name: 'doomed' });
      const task = {
        id: 'tsk_1',
        chat_id: bench.chatId,
        thread_id: bench.threadId,
        turn_id: 't',
        call_id: 'c',
        workflow_id: 'w',
        goal: 'g',
        agent: 'auto',
      };
      await db
        .insertInto('tasks')
        .values({
          ...task,
          harness: 'practice',
          host: 'local',
          workspace: 'doomed',
          state: 'running',
          timeout_ms: 1,
          session_id: null,
          last: null,
          reason: null,
          outbox_id: null,
          started_at: null,
          ended_at: null,
        })
        .execute();
      expect(await bench.call('workspace_delete', { name: 'doomed' })).toEqual({
        ok: false,
        output: expect.stringContaining('tsk_1'),
      });
      expect(await bench.call('undo', { workspace: 'doomed' })).toMatchObject({
        ok: false,
        output: expect.stringContaining('tsk_1'),
      });
      await db.updateTable('tasks').set({ ended_at: new Date(), state: 'completed' }).execute();
      expect(await bench.preview('workspace_delete', { name: 'doomed' })).toMatch(
        /^Delete the workspace doomed .*\nIt is kept for 30 days/,
      );
      const deleted = await bench.call('workspace_delete', { name: 'doomed' }, { callId: 'call_doom' });
      expect(deleted).toMatchObject({ ok: true, output: expect.stringMatching(/^Deleted workspace doomed/) });
      expect(existsSync(path('doomed'))).toBe(false);
      expect(existsSync(join(String(deleted.metadata!.kept), 'README.md'))).toBe(true);
      expect(await bench.call('workspace_delete', { name: 'doomed' }, { callId: 'call_doom' })).toMatchObject({
        ok: true,
        metadata: { kept: deleted.metadata!.kept },
      });
    });

    it('on another host can be selected, and are reached there', async () => {
      const { db } = database.store;
      const chat = await newBench();
      await recordWorkspaces(db, 'far', [{ name: 'remote', path: '/x/remote' }]);
      await reportHost(db, { host: 'far', slots: 1, ready: true, problem: null, harnesses: [] });
      await reportHost(db, { host: 'local', slots: 1, ready: true, problem: null, harnesses: [] });
      expect((await chat.call('workspace_list', {})).output).toContain('remote (on far)');
      expect(await chat.call('file_list', { workspace: 'remote' })).toEqual({
        ok: false,
        output: expect.stringContaining('on the host far'),
      });
      expect(await chat.call('workspace_select', { name: 'remote' })).toMatchObject({
        ok: true,
        output: expect.stringContaining('on the host far'),
      });
      expect(await hostOfChat(db, chat.chatId, 'local', false)).toBe('far');
      await db
        .updateTable('kennel_hosts')
        .set({ seen_at: new Date(0) })
        .where('host', '=', 'far')
        .execute();
      expect(await hostOfChat(db, chat.chatId, 'local', false)).toBe('far');
      expect(await hostOfChat(db, chat.chatId, 'local', true)).toBe('local');
      expect((await listHosts(db)).map((host) => [host.host, host.alive])).toEqual([
        ['local', true],
        ['far', false],
      ]);
      await recordWorkspaces(db, 'far', []);
    });
  });

  describe('files', () => {
    const at = { workspace: 'app' };

    it('are written, read, searched, listed, edited and deleted', async () => {
      expect(await bench.call('file_write', { ...at, path: 'src/a.ts', content: 'one\ntwo\nthree\n' })).toMatchObject({
        ok: true,
        metadata: { workspace: 'app' },
      });
      expect(
        (await bench.call('file_read', { ...at, path: '/workspace/src/a.ts', from: 2, lines: 1 })).output,
      ).toContain('two');
      expect((await bench.call('file_search', { ...at, pattern: 'thr' })).output).toContain('src/a.ts');
      expect((await bench.call('file_list', { ...at, depth: 2 })).output).toContain('a.ts');
      expect(await bench.call('file_edit', { ...at, path: 'src/a.ts', find: 'two', replace: '2' })).toMatchObject({
        ok: true,
      });
      expect(readFileSync(path('app/src/a.ts'), 'utf8')).toBe('one\n2\nthree\n');
      expect(await bench.call('file_delete', { ...at, path: 'src/a.ts', confirm: true })).toMatchObject({
        ok: true,
        output: 'Deleted file src/a.ts',
      });
      expect(existsSync(path('app/src/a.ts'))).toBe(false);
      expect(await bench.call('file_delete', { ...at, path: 'src/a.ts' })).toMatchObject({ ok: false });
      await bench.call('file_write', { ...at, path: 'gen/x/y.txt', content: 'y' });
      expect(await bench.call('folder_delete', { ...at, path: 'gen' })).toMatchObject({
        ok: true,
        output: 'Deleted folder gen',
      });
    });

    it('are shown as they would change, for an approval, and do not change by that', async () => {
      await bench.call('file_write', { ...at, path: 'p.txt', content: 'old\n' });
      expect(await bench.preview('file_edit', { ...at, path: 'p.txt', find: 'old', replace: 'new' })).toMatch(
        /^-old$[\s\S]*^\+new$/m,
      );
      expect(await bench.preview('file_write', { ...at, path: 'p.txt', content: 'other\n' })).toMatch(/^\+other$/m);
      expect(await bench.preview('file_delete', { ...at, path: 'p.txt' })).toMatch(/^-old$/m);
      expect(readFileSync(path('app/p.txt'), 'utf8')).toBe('old\n');
    });

    it('have every edit in them when several are made at once', async () => {
      const names = ['one', 'two', 'three', 'four'];
      await bench.call('file_write', { ...at, path: 'many.txt', content: names.join('\n') });
      const outcomes = await Promise.all(
        names.map((name) =>
          bench.call('file_edit', { ...at, path: 'many.txt', find: name, replace: name.toUpperCase() }),
        ),
      );
      expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, true, true]);
      expect(readFileSync(path('app/many.txt'), 'utf8')).toBe('ONE\nTWO\nTHREE\nFOUR');
    });

    it('are edited once, when the worker dies before it can say so', async () => {
      await bench.call('file_write', { ...at, path: 'e.txt', content: 'foo(1)\n' });
      const args = { ...at, path: 'e.txt', find: 'foo(', replace: 'await foo(' };
      const dying = dyingAfter(kennel, (what) => what === 'edit');
      await expect(bench.call('file_edit', args, { callId: 'call_edit', kennel: dying })).rejects.toThrow('died');
      expect(await bench.call('file_edit', args, { callId: 'call_edit' })).toMatchObject({
        ok: true,
        output: expect.stringContaining('Edited e.txt'),
      });
      expect(readFileSync(path('app/e.txt'), 'utf8')).toBe('await foo(1)\n');
    });

    it('are edited still, when the worker dies before it began to', async () => {
      await bench.call('file_write', { ...at, path: 'f.txt', content: 'a\n' });
      const args = { ...at, path: 'f.txt', find: 'a', replace: 'aa' };
      const dying = dyingAfter(kennel, (what) => what === 'edit preview');
      await expect(bench.call('file_edit', args, { callId: 'call_edit2', kennel: dying })).rejects.toThrow('died');
      expect(await bench.call('file_edit', args, { callId: 'call_edit2' })).toMatchObject({ ok: true });
      expect(readFileSync(path('app/f.txt'), 'utf8')).toBe('aa\n');
    });

    it('are deleted once, when the worker dies before it can say so', async () => {
      await bench.call('file_write', { ...at, path: 'd.txt', content: 'a\n' });
      const dying = dyingAfter(kennel, (what) => what === 'delete');
      await expect(
        bench.call('file_delete', { ...at, path: 'd.txt' }, { callId: 'call_del', kennel: dying }),
      ).rejects.toThrow('died');
      expect(await bench.call('file_delete', { ...at, path: 'd.txt' }, { callId: 'call_del' })).toMatchObject({
        ok: true,
        output: 'Deleted file d.txt',
      });
    });

    it('behind links that lead out are not reached', async () => {
      symlinkSync('/etc', path('app/out'));
      for (const [name, args] of [
        ['file_read', { path: 'out/passwd' }],
        ['file_write', { path: 'out/passwd', content: 'x' }],
        ['file_list', { path: 'out' }],
        ['folder_delete', { path: 'out/ssl' }],
      ] as const)
        expect(await bench.call(name, { ...at, ...args })).toMatchObject({ ok: false });
      rmSync(path('app/out'));
    });
  });

  describe('commands', () => {
    const at = { workspace: 'app' };

    it('run in the workspace, and all that they print is kept and streamed', async () => {
      const outcome = await bench.call(
        'shell_run',
        { ...at, command: 'echo $PWD; echo problem >&2; seq 1 50000 | tail -n 1; exit 3' },
        { callId: 'call_shell' },
      );
      expect(outcome).toMatchObject({ ok: false, metadata: { exit_code: 3, timed_out: false, cwd: '.' } });
      expect(outcome.output).toMatch(
        /^The command failed with exit code 3 after .*\n\n\/workspace\n50000\n\nWhat it wrote to stderr:\nproblem$/,
      );
      const events = await database.store.db
        .selectFrom('events')
        .selectAll()
        .where('item_id', '=', 'item_call_shell')
        .orderBy('seq')
        .execute();
      expect(events.map((event) => (event.payload as { delta?: string }).delta ?? '').join('')).toContain(
        '/workspace\n',
      );
    });

    it('have no network, no keys, and nothing mounted but the workspace', async () => {
      const { output } = await bench.call('shell_run', {
        ...at,
        command:
          'env; ls /run/fetch 2>&1; node -e "fetch(\'http://1.1.1.1\').catch((e) => console.log(e.cause.code))"; id -u',
      });
      expect(output).not.toMatch(/TOKEN|KEY|SECRET|POSTGRES|DATABASE/);
      expect(output).toMatch(/ENETUNREACH|ENOTFOUND|EAI_AGAIN/);
      expect(output).toMatch(process.getuid?.() === 0 ? /^1000$/m : new RegExp(`^${process.getuid?.()}$`, 'm'));
    });

    it('are stopped when their time is over', async () => {
      const began = Date.now();
      const outcome = await bench.call('shell_run', {
        ...at,
        command: 'trap "" TERM; echo begun; sleep 600',
        timeoutMs: 2000,
      });
      expect(outcome).toMatchObject({
        ok: false,
        output: expect.stringMatching(/was stopped after 2\.0 s[\s\S]*begun/),
        metadata: { timed_out: true },
      });
      expect(Date.now() - began).toBeLessThan(20_000);
    });

    it('may print more than anybody reads', async () => {
      const { output, metadata } = await bench.call('app_run', {
        ...at,
        command: 'echo first; head -c 30000000 /dev/zero | tr "\\0" "x"; echo last',
      });
      expect(metadata).toMatchObject({ exit_code: 0, truncated: true });
      expect(output).toContain('first');
      expect(output).toContain('last');
      expect(output.length).toBeLessThan(3_000_000);
    });

    it('run in a folder of the workspace', async () => {
      await bench.call('file_write', { ...at, path: 'deep/er/x', content: '' });
      expect((await bench.call('shell_run', { ...at, command: 'pwd', cwd: 'deep/er' })).output).toContain(
        '/workspace/deep/er',
      );
    });

    it('test a project by its own command, or by a given one', async () => {
      await bench.call('workspace_create', { name: 'tested', template: 'node' });
      const passed = await bench.call('app_test', { workspace: 'tested' });
      expect(passed).toMatchObject({
        ok: true,
        output: expect.stringMatching(/succeeded with exit code 0/),
        metadata: { exit_code: 0 },
      });
      await bench.call('file_write', {
        workspace: 'tested',
        path: 'bad.test.mjs',
        content: "import test from 'node:test';\ntest('x', () => { throw new Error('broken'); });\n",
      });
      const failed = await bench.call('app_test', { workspace: 'tested', command: 'node --test bad.test.mjs' });
      expect(failed).toMatchObject({ ok: false, output: expect.stringContaining('broken') });
      expect(await bench.call('app_test', { workspace: 'by-hand' })).toMatchObject({
        ok: false,
        output: expect.stringContaining('is not known'),
      });
      await bench.call('file_write', {
        workspace: 'tested',
        path: 'lacks.test.mjs',
        content: "import 'left-pad';\n",
      });
      expect(
        (await bench.call('app_test', { workspace: 'tested', command: 'node --test lacks.test.mjs' })).output,
      ).toContain('let a task install them first');
    });

    it('lint and build it by its own commands, as far as its files name them', async () => {
      await bench.call('workspace_create', { name: 'linted', template: 'empty' });
      const makefile = 'lint:\n\t@echo no errors\n';
      await bench.call('file_write', { workspace: 'linted', path: 'Makefile', content: makefile });
      expect(await bench.call('app_test', { workspace: 'linted', command: 'lint' })).toMatchObject({
        ok: true,
        output: expect.stringMatching(/^make lint succeeded[\s\S]*no errors/),
      });
      expect(await bench.call('app_test', { workspace: 'linted', command: 'build' })).toMatchObject({
        ok: false,
        output: 'How linted is built is not known: its files do not say it. The owner can: "linted is built by …".',
      });
    });

    it('find the packages that a task fetched, and no setting that it left in its HOME', async () => {
      const of = mkdtempSync(join(home, 'task-'));
      const path = join(folder, 'fetched');
      mkdirSync(path);
      writeFileSync(join(path, 'Makefile'), 'test:\n\t@python3 -c "import fetched, json" && ls -A $$HOME/.m2 $$HOME\n');
      const modules = join(of, '.local/lib/python3.11/site-packages');
      mkdirSync(modules, { recursive: true });
      writeFileSync(join(modules, 'fetched.py'), 'print("of a task")\n');
      writeFileSync(join(modules, 'json.py'), 'print("in place of ours")\n');
      writeFileSync(join(modules, 'sitecustomize.py'), 'import os; os._exit(0)\n');
      writeFileSync(join(modules, 'usercustomize.py'), 'import os; os._exit(0)\n');
      writeFileSync(join(modules, 'forged.pth'), 'import os; os._exit(0)\n');
      mkdirSync(join(of, '.m2/repository'), { recursive: true });
      writeFileSync(join(of, '.npmrc'), 'script-shell=/bin/true\n');
      await kennel.keepFetched(path, of);
      const { output } = await bench.call('app_test', { workspace: 'fetched' });
      expect(output).toContain('of a task\n');
      expect(output).toMatch(/repository/);
      expect(output).not.toMatch(/\.npmrc|in place of ours/);
    });
  });

  describe('git', () => {
    it('shows, commits, branches and logs', async () => {
      await bench.call('workspace_create', { name: 'history' });
      const at = { workspace: 'history' };
      await bench.call('file_write', { ...at, path: 'a.txt', content: 'one\n' });
      expect((await bench.call('git_status', at)).output).toContain('a.txt');
      expect(await bench.preview('git_commit', { ...at, message: 'Add a' })).toMatch(/^Commit "Add a"[\s\S]*a\.txt/);
      expect(await bench.call('git_commit', { ...at, message: 'Add a' })).toMatchObject({ ok: true });
      expect(git('history', 'log', '-1', '--format=%s %an')).toBe('Add a Fetch');
      expect(await bench.call('git_commit', { ...at, message: 'Again' })).toMatchObject({ ok: false });
      await bench.call('file_write', { ...at, path: 'a.txt', content: 'two\n' });
      expect((await bench.call('git_diff', at)).output).toMatch(/^\+two$/m);
      expect(await bench.call('git_branch', { ...at, action: 'create', name: 'feature/x' })).toMatchObject({
        ok: true,
      });
      expect((await bench.call('git_branch', at)).output).toContain('feature/x');
      expect((await bench.call('git_log', { ...at, limit: 5 })).output).toContain('Add a');
      expect((await bench.call('git_diff', { ...at, against: 'main' })).output).toMatch(/^\+two$/m);
      expect(git('history', 'branch', '--show-current')).toBe('feature/x');
    });

    it('commits once, when the worker dies before it can say so', async () => {
      const at = { workspace: 'history' };
      await bench.call('file_write', { ...at, path: 'once.txt', content: 'x\n' });
      const dying = dyingAfter(kennel, (what) => what === 'git-commit');
      await expect(
        bench.call('git_commit', { ...at, message: 'Only once' }, { callId: 'call_commit', kennel: dying }),
      ).rejects.toThrow('died');
      expect(await bench.call('git_commit', { ...at, message: 'Only once' }, { callId: 'call_commit' })).toMatchObject({
        ok: true,
        output: expect.stringContaining('Only once'),
      });
      expect(git('history', 'log', '--format=%s').match(/Only once/g)).toHaveLength(1);
    });

    it('takes back what a task did, once for a call, and brings it back', async () => {
      const author = { name: 'Fetch', email: 'fetch@localhost' };
      const at = { workspace: 'history' };
      for (const key of ['tsk_a', 'tsk_b']) {
        await kennel.workspaceOp(path('history'), { op: 'checkpoint', key, author });
        await kennel.workspaceOp(path('history'), { op: 'write', path: `${key}.txt`, content: 'by a task\n' });
        await kennel.workspaceOp(path('history'), {
          op: 'conclude',
          key,
          message: `Task ${key}`,
          author,
          keepOnBranchOnly: false,
        });
      }
      const dying = dyingAfter(kennel, (what) => what === 'undo');
      await expect(bench.call('undo', at, { callId: 'call_undo', kennel: dying })).rejects.toThrow('died');
      expect(await bench.call('undo', at, { callId: 'call_undo' })).toMatchObject({ ok: true });
      expect([existsSync(path('history/tsk_a.txt')), existsSync(path('history/tsk_b.txt'))]).toEqual([true, false]);
      expect(await bench.call('undo', { ...at, what: 'redo' })).toMatchObject({ ok: true });
      expect(existsSync(path('history/tsk_b.txt'))).toBe(true);
      expect(await bench.call('undo', { ...at, what: 'all' })).toMatchObject({ ok: true });
      expect([existsSync(path('history/tsk_a.txt')), existsSync(path('history/tsk_b.txt'))]).toEqual([false, false]);
    });
  });

  describe('undo of direct edits', () => {
    const at = { workspace: 'direct' };
    const files = () => readdirSync(path('direct')).filter((name) => name !== '.git');

    it('takes back what the edits and commands of a turn changed, at once', async () => {
      await bench.call('workspace_create', { name: 'direct', template: 'empty' });
      const start = files();
      expect(await bench.call('shell_run', { ...at, command: 'ls' })).toMatchObject({ ok: true });
      expect(await bench.call('undo', at)).toMatchObject({
        ok: false,
        output: expect.stringContaining('nothing to undo'),
        ours: true,
      });
      await bench.call('file_write', { ...at, path: 'a.txt', content: 'a\n' });
      await bench.call('file_edit', { ...at, path: 'a.txt', find: 'a', replace: 'b' });
      expect(
        await bench.call('shell_run', { ...at, command: 'mkdir made && echo c > made/c.txt; exit 3' }),
      ).toMatchObject({ ok: false });
      await bench.call('folder_delete', { ...at, path: 'made' });
      const undone = await bench.call('undo', at);
      expect(undone).not.toHaveProperty('ours');
      expect(undone).toMatchObject({
        ok: true,
        output: expect.stringMatching(/^Undone \(2 edits and 2 commands\): a\.txt is /),
      });
      expect(files()).toEqual(start);
      expect(await bench.call('undo', { ...at, what: 'redo' })).toMatchObject({ ok: true });
      expect(files()).toEqual([...start, 'a.txt'].sort());
    });

    it('refuses while a command runs, and knows a command whose time was over', async () => {
      const slow = bench.call('shell_run', { ...at, command: 'echo s > slow.txt; sleep 600', timeoutMs: 4000 });
      await expect.poll(files, { timeout: 60_000 }).toContain('slow.txt');
      expect(await bench.call('undo', at)).toMatchObject({
        ok: false,
        output: expect.stringContaining('A command is running in direct'),
      });
      expect(await slow).toMatchObject({ ok: false, metadata: { timed_out: true } });
      expect(await bench.call('undo', at)).toMatchObject({ ok: true, output: expect.stringContaining('slow.txt') });
    });

    it('ends a command that outlived its killed worker, and knows what it changed', async () => {
      const tool = tools.find((each) => each.name === 'shell_run')!;
      const args = tool.schema.parse({ ...at, command: 'echo k > killed.txt; sleep 600' }) as never;
      const call = 'call_killed';
      // what the worker leaves: a state before, and a container that runs on
      await expect(
        kennel.workspaceOp(path('direct'), {
          op: 'checkpoint',
          author: { name: 'Fetch', email: 'fetch@localhost' },
          ...commandOf(bench.context(call)),
        }),
      ).resolves.toMatchObject({ ok: true });
      const left = kennel.command({
        workspace: path('direct'),
        argv: ['bash', '-c', 'echo k > killed.txt; sleep 600'],
        timeoutMs: 300_000,
        maxOutput: 1000,
        label: commandOf(bench.context(call)).key,
      });
      await expect.poll(files, { timeout: 60_000 }).toContain('killed.txt');
      await tool.interrupted!(args, bench.context(call));
      expect((await left).code).not.toBe(0);
      expect(await bench.call('undo', at)).toMatchObject({ ok: true, output: expect.stringContaining('killed.txt') });
    });
  });

  describe('GitHub', () => {
    const withToken = () => ({ config: { GH_TOKEN: github.token } });
    const onServer = (name: string, ref: string) =>
      execFileSync('git', ['-C', github.folder(name), 'rev-parse', ref], { encoding: 'utf8' }).trim();

    it('gets a new workspace at once, where a token is configured', async () => {
      const made = await bench.call('workspace_create', { name: 'shared', description: 'd' }, withToken());
      expect(made.output).toMatch(/^Created shared .*\nPublished shared to 127\.0\.0\.1:\d+\/ann\/shared \(private\)$/);
      expect(onServer('shared', 'main')).toBe(git('shared', 'rev-parse', 'HEAD'));
      expect(git('shared', 'remote', 'get-url', 'origin')).toMatch(/\/ann\/shared\.git$/);
      expect((await bench.call('workspace_status', { name: 'shared' })).output).toContain('clean');
    });

    it('gets what changed, committed and pushed, and only once', async () => {
      await bench.call('file_write', { workspace: 'shared', path: 'b.txt', content: 'b' });
      expect(await bench.preview('workspace_sync', { name: 'shared' })).toMatch(
        /^Commit what changed in 1 file in shared and push main to http/,
      );
      const synced = await bench.call('workspace_sync', { name: 'shared', message: 'Add b' }, withToken());
      expect(synced).toMatchObject({
        ok: true,
        output: expect.stringMatching(/^Committed 1 file: 'Add b' \([0-9a-f]{7}\), pushed to origin\/main$/),
      });
      expect(onServer('shared', 'main')).toBe(git('shared', 'rev-parse', 'HEAD'));
      expect(await bench.call('workspace_sync', { name: 'shared' }, withToken())).toMatchObject({
        ok: true,
        output: 'Nothing new to commit, and origin/main was up to date',
      });
      expect(await bench.call('workspace_publish', { name: 'shared' }, withToken())).toMatchObject({
        ok: false,
        output: expect.stringContaining('has a remote already'),
      });
    });

    it('is told when a new workspace could not be published, and the workspace is there', async () => {
      github.failures.push({ status: 401 });
      const made = await bench.call('workspace_create', { name: 'alone' }, withToken());
      expect(made).toMatchObject({
        ok: true,
        output: expect.stringMatching(/^Created alone[\s\S]*It is not on GitHub: .*401.*workspace_publish tries again/),
      });
      expect(await bench.call('workspace_publish', { name: 'alone', isPublic: true }, withToken())).toMatchObject({
        ok: true,
        output: expect.stringMatching(/ann\/alone \(public\)$/),
      });
    });

    it('gets one repository, when the worker dies in the middle of publishing', async () => {
      await bench.call('workspace_create', { name: 'halfway' });
      for (const label of ['git-bundle', 'git-remote']) {
        const dying = dyingAfter(kennel, (what) => what === label);
        await expect(
          bench.call(
            'workspace_publish',
            { name: 'halfway' },
            { callId: 'call_publish', kennel: dying, ...withToken() },
          ),
        ).rejects.toThrow('died');
      }
      expect(
        await bench.call('workspace_publish', { name: 'halfway' }, { callId: 'call_publish', ...withToken() }),
      ).toMatchObject({ ok: true });
      expect(onServer('halfway', 'main')).toBe(git('halfway', 'rev-parse', 'HEAD'));
      expect(github.requests.filter((request) => request === 'POST /api/user/repos').length).toBeGreaterThan(0);
    });

    it('never gets the token of a workspace whose remote is somewhere else', async () => {
      await bench.call('workspace_create', { name: 'hostile' });
      git('hostile', 'remote', 'add', 'origin', 'http://evil.example/ann/hostile.git');
      await bench.call('file_write', { workspace: 'hostile', path: 'c.txt', content: 'c' });
      const before = github.requests.length;
      expect(await bench.call('workspace_sync', { name: 'hostile' }, withToken())).toMatchObject({
        ok: false,
        output: expect.stringContaining('nothing was committed or pushed'),
      });
      expect(github.requests.length).toBe(before);
    });

    it('is not reached by a container, and no container knows the token', async () => {
      const { output } = await bench.call(
        'shell_run',
        {
          workspace: 'shared',
          command: `env; cat .git/config; curl -sm 3 ${github.apiUrl} || node -e "fetch('${github.apiUrl}').catch((e) => console.log(e.cause.code))"`,
        },
        withToken(),
      );
      expect(output).not.toContain(github.token);
      expect(output).toMatch(/ECONNREFUSED|ENETUNREACH/);
    });
  });

  it('defect 24: list and select where no engine answers, and otherwise say what to do', async () => {
    const none = openKennel({ ...base, DOCKER_HOST: `unix://${join(home, 'no.sock')}` });
    // an engine that was there a moment ago is waited for
    await database.store.db.updateTable('kennel_hosts').set({ ready_at: null }).where('host', '=', 'local').execute();
    expect(await bench.call('workspace_list', {}, { kennel: none })).toMatchObject({
      ok: true,
      output: expect.stringContaining('app'),
    });
    expect(await bench.call('workspace_select', { name: 'app' }, { kennel: none })).toMatchObject({
      ok: true,
      output: expect.stringMatching(/^Switched to app/),
    });
    for (const [name, args] of [
      ['file_read', { path: 'README.md' }],
      ['shell_run', { command: 'ls' }],
      ['workspace_create', { name: 'never' }],
    ] as const)
      expect(await bench.call(name, args, { kennel: none })).toMatchObject({
        ok: false,
        output: expect.stringMatching(/Docker|DOCKER_HOST/),
      });
    expect(existsSync(path('never'))).toBe(false);
  });

  it('leave no container behind', async () => {
    expect((await kennel.list()).length).toBe(0);
  });
});
