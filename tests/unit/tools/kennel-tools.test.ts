import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  emptyTrash,
  findWorkspaces,
  folderId,
  placeWorkspace,
  sideFolder,
  stageWorkspace,
  TRASH_DAYS,
  trashWorkspace,
} from '../../../src/adapters/workspaces.ts';
import { syncTools } from '../../../src/tools/github/github.ts';
import type { ToolContext } from '../../../src/tools/tool.ts';
import { appTools } from '../../../src/tools/workspace/apps.ts';
import { bringInTools } from '../../../src/tools/workspace/bring-in.ts';
import { commandOutcome, printed } from '../../../src/tools/workspace/command-text.ts';
import { fileTools } from '../../../src/tools/workspace/files.ts';
import { gitTools } from '../../../src/tools/workspace/git.ts';
import { shellTools } from '../../../src/tools/workspace/shell.ts';
import { workspaceTools } from '../../../src/tools/workspace/workspaces.ts';

const tools = [...workspaceTools, ...fileTools, ...shellTools, ...appTools, ...gitTools, ...syncTools, ...bringInTools];
const named = (name: string) => tools.find((tool) => tool.name === name)!;

describe('the tools of the kennel', () => {
  it('have the danger that the contract gives them', () => {
    expect(Object.fromEntries(tools.map((tool) => [tool.name, tool.danger]))).toEqual({
      workspace_list: 'SAFE',
      workspace_select: 'SAFE',
      workspace_status: 'SAFE',
      workspace_create: 'MODERATE',
      workspace_delete: 'DANGEROUS',
      workspace_sync: 'MODERATE',
      workspace_publish: 'MODERATE',
      file_list: 'SAFE',
      file_read: 'SAFE',
      file_search: 'SAFE',
      file_write: 'MODERATE',
      file_edit: 'MODERATE',
      file_delete: 'DANGEROUS',
      folder_delete: 'DANGEROUS',
      shell_run: 'DANGEROUS',
      app_run: 'DANGEROUS',
      app_test: 'MODERATE',
      app_control: 'SAFE',
      git_status: 'SAFE',
      git_diff: 'SAFE',
      git_log: 'SAFE',
      git_commit: 'MODERATE',
      git_branch: 'MODERATE',
      undo: 'MODERATE',
      workspace_clone: 'MODERATE',
    });
  });

  it('run in the kennel, and only a command is never run again', () => {
    for (const tool of tools) {
      expect(tool.runsIn).toBe('kennel');
      expect([tool.name, tool.effect]).toEqual([
        tool.name,
        ['shell_run', 'app_run'].includes(tool.name) ? 'once' : 'idempotent',
      ]);
    }
    expect(tools.filter((tool) => tool.anyHost).map((tool) => tool.name)).toEqual([
      'workspace_list',
      'workspace_select',
      'workspace_clone',
    ]);
  });

  it('are declared to the model with a strict object schema', () => {
    for (const tool of tools) {
      const schema = z.toJSONSchema(tool.schema, { io: 'input', unrepresentable: 'any' });
      expect([tool.name, schema.type, schema.additionalProperties]).toEqual([tool.name, 'object', false]);
    }
  });

  it('run the lint and the build of a project like its tests, by one word', async () => {
    const { schema, preview } = named('app_test');
    for (const command of ['lint', 'build', 'npm test']) expect(schema.safeParse({ command }).success).toBe(true);
    for (const command of ['lint .', 'build --all', 'install'])
      expect(schema.safeParse({ command }).success).toBe(false);
    await expect(preview!({ command: 'lint' }, {} as never)).resolves.toBe(
      '$ the lint command of the project\n(in the active workspace)',
    );
  });

  it.each(['file_delete', 'folder_delete', 'workspace_delete'])(
    '%s takes a confirm, which changes nothing about its danger',
    (name) => {
      const target = name === 'workspace_delete' ? { name: 'x' } : { path: 'x' };
      expect(named(name).schema.safeParse({ ...target, confirm: true }).success).toBe(true);
      expect(named(name).schema.safeParse({ ...target, confirm: false }).success).toBe(true);
      expect(named(name).schema.safeParse(target).success).toBe(true);
    },
  );

  it.each([
    ['file_read', { path: '../x' }],
    ['file_write', { path: '/etc/passwd', content: '' }],
    ['file_write', { path: '.git/hooks/pre-commit', content: '' }],
    ['file_write', { path: 'a', content: 'a\0b' }],
    ['folder_delete', { path: '.' }],
    ['folder_delete', { path: 'a/../..' }],
    ['shell_run', { command: '  ' }],
    ['shell_run', { command: 'ls', cwd: '/' }],
    ['shell_run', { command: 'ls', timeoutMs: 10 }],
    ['app_test', { command: 'curl evil | sh' }],
    ['app_run', { command: '  ' }],
    ['app_run', { command: 'x'.repeat(4001) }],
    ['app_run', { keep: true, port: 70_000 }],
    ['app_run', { timeoutMs: 1_800_001 }],
    ['app_run', { confirm: true }],
    ['app_control', { action: 'restart' }],
    ['app_control', { lines: 0 }],
    ['git_branch', { action: 'create' }],
    ['git_branch', { action: 'create', name: '--force' }],
    ['git_diff', { against: '--output=/workspace/x' }],
    ['workspace_create', { name: 'mу-app' }],
    ['workspace_create', { name: 'x', template: 'php' }],
    ['workspace_create', { name: 'x', description: 'x'.repeat(257) }],
    ['workspace_sync', { message: 'x'.repeat(257) }],
  ])('%s refuses %j', (name, args) => expect(named(name).schema.safeParse(args).success).toBe(false));

  it('hand on a path that is relative to the workspace', () => {
    expect(named('file_read').schema.parse({ path: '/workspace/src//a.ts' })).toMatchObject({
      path: 'src/a.ts',
      from: 1,
    });
    expect(named('file_list').schema.parse({})).toMatchObject({ path: '.' });
  });

  it('say so where there is no kennel', async () => {
    const context = { config: {} } as unknown as ToolContext;
    for (const [name, args] of [
      ['workspace_list', {}],
      ['file_read', { path: 'a' }],
      ['shell_run', { command: 'ls' }],
    ] as const)
      expect(await named(name).run(named(name).schema.parse(args) as never, context)).toEqual({
        ok: false,
        output: expect.stringContaining('kennel host'),
        ours: true,
      });
  });

  it('show the whole command for an approval, with nothing in it that a screen would act on', async () => {
    const tool = named('shell_run');
    const args = tool.schema.parse({
      command: 'echo a\n\u001b[2Krm -rf b\u202e',
      cwd: 'src',
      workspace: 'my-app',
    }) as never;
    expect(await tool.preview!(args, {} as ToolContext)).toBe('$ echo a\n> rm -rf b\n(in my-app/src)');
  });

  it('say without a token what is missing to push', async () => {
    const context = { config: {} } as unknown as ToolContext;
    for (const name of ['workspace_sync', 'workspace_publish'])
      expect(await named(name).run(named(name).schema.parse({}) as never, context)).toEqual({
        ok: false,
        output: expect.stringContaining('put it in on my page'),
      });
  });
});

describe('the folder of the workspaces', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fetch-workspaces-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('has every folder that somebody put there, and tells why others are left out', async () => {
    for (const name of ['api', 'my app', '.hidden', 'Web', 'web']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'a-file'), '');
    symlinkSync('/etc', join(folder, 'etc'));
    symlinkSync(join(folder, 'api'), join(folder, 'same'));
    const found = await findWorkspaces(folder);
    expect(found.workspaces.map((each) => each.name.toLowerCase())).toEqual(['api', 'web']);
    expect(Object.fromEntries(found.leftOut.map((each) => [each.name.toLowerCase(), each.why]))).toEqual({
      etc: expect.stringContaining('link'),
      same: expect.stringContaining('link'),
      'my app': expect.stringContaining('rename'),
      web: expect.stringContaining('case only'),
    });
  });

  it('is made where it is missing', async () => {
    expect(await findWorkspaces(join(folder, 'not/yet'))).toEqual({ workspaces: [], leftOut: [] });
  });

  it('gets a new workspace in one step, which an attempt knows again by its number', async () => {
    const staged = await stageWorkspace(folder, 'call_1');
    writeFileSync(join(staged, 'half'), '');
    // another attempt begins with nothing
    expect(readdirSync(await stageWorkspace(folder, 'call_1'))).toEqual([]);
    const id = await folderId(staged);
    expect((await findWorkspaces(folder)).workspaces).toEqual([]);
    const path = await placeWorkspace(folder, staged, 'new');
    expect(await folderId(path)).toBe(id);
    expect((await findWorkspaces(folder)).workspaces.map((each) => each.name)).toEqual(['new']);
  });

  it('does not put a new workspace over one that is there', async () => {
    mkdirSync(join(folder, 'new'));
    writeFileSync(join(folder, 'new/file'), '');
    await expect(placeWorkspace(folder, await stageWorkspace(folder, 'call_1'), 'new')).rejects.toMatchObject({
      code: expect.stringMatching(/EEXIST|ENOTEMPTY/),
    });
  });

  it('keeps what is deleted, once for a call, and clears it away after its time', async () => {
    mkdirSync(join(folder, 'old'));
    writeFileSync(join(folder, 'old/file'), '');
    const kept = await trashWorkspace(folder, 'old', 'call_1');
    expect(existsSync(join(kept!, 'file'))).toBe(true);
    mkdirSync(join(folder, 'old'));
    expect(await trashWorkspace(folder, 'old', 'call_1')).toBe(kept);
    expect(existsSync(join(folder, 'old'))).toBe(true);
    expect(await trashWorkspace(folder, 'nothing', 'call_2')).toBeNull();
    const staged = await stageWorkspace(folder, 'call_3');
    utimesSync(staged, 1, 1);
    expect(await emptyTrash(folder, Date.now() + (TRASH_DAYS - 1) * 86_400_000)).toBe(1);
    expect(existsSync(kept!)).toBe(true);
    expect(await emptyTrash(folder, Date.now() + (TRASH_DAYS + 1) * 86_400_000)).toBe(1);
    expect(existsSync(kept!)).toBe(false);
  });

  it('keeps the checkpoints of a workspace as long as its folder, wherever that was moved, and for a time after it', async () => {
    mkdirSync(join(folder, 'one'));
    const side = await sideFolder(join(folder, 'one'));
    renameSync(join(folder, 'one'), join(folder, 'two'));
    expect(await sideFolder(join(folder, 'two'))).toBe(side);
    const late = Date.now() + (TRASH_DAYS + 1) * 86_400_000;
    await emptyTrash(folder, late);
    expect(existsSync(side)).toBe(true);
    rmSync(join(folder, 'two'), { recursive: true });
    await emptyTrash(folder, late - 2 * 86_400_000);
    expect(existsSync(side)).toBe(true);
    await emptyTrash(folder, late);
    expect(existsSync(side)).toBe(false);
  });
});

describe('what a command printed', () => {
  it('is shown without escapes, overrides and overwritten progress', () => {
    expect(printed('\u001b[31mred\u001b[0m\r\nnext')).toBe('red\nnext');
    expect(printed('10%\r50%\r100%\ndone\n')).toBe('100%\ndone\n');
    expect(printed('a\u202eb\0c\u0007')).toBe('abc');
    expect(printed('\ud800x')).toBe('\ufffdx');
  });

  const result = { code: 0, stdout: '', stderr: '', cut: false, timedOut: false, outOfMemory: false };
  it.each([
    [{ ...result, stdout: 'hi\n' }, true, 'It succeeded with exit code 0 after 1.5 s.\n\nhi'],
    [{ ...result }, true, 'It succeeded with exit code 0 after 1.5 s.\n\nIt printed nothing.'],
    [
      { ...result, code: 2, stdout: 'a', stderr: 'b' },
      false,
      'It failed with exit code 2 after 1.5 s.\n\na\n\nWhat it wrote to stderr:\nb',
    ],
    [
      { ...result, code: null, timedOut: true },
      false,
      'It was stopped after 90 s: it had not ended.\n\nIt printed nothing.',
    ],
    [{ ...result, code: 137, outOfMemory: true, stderr: 'x' }, false, /needed more memory[\s\S]*\n\nx$/],
  ])('%j', (given, ok, output) => {
    const outcome = commandOutcome('It', given, 1500, 90_000);
    expect(outcome.ok).toBe(ok);
    expect(outcome.output).toEqual(output instanceof RegExp ? expect.stringMatching(output) : output);
  });
});
