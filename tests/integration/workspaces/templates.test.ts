import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Profile, TEMPLATES, type Template } from '../../../src/contracts/workspace-ops.ts';
import { author, Workspace } from './program.ts';

const made: Workspace[] = [];
afterEach(() => {
  for (const workspace of made.splice(0)) workspace.remove();
});

// biome-ignore lint/suspicious/noTemplateCurlyInString: it must arrive as it is
const AWKWARD = 'Says "hi" to \\everyone\\ & <b>${all}</b> `of` us';

function created(template: Template, git = true): Workspace {
  const w = new Workspace();
  made.push(w);
  w.ok({ op: 'create', template, name: 'My_App-1', description: AWKWARD, git, author });
  return w;
}

const profileOf = (w: Workspace): Profile => w.ok({ op: 'profile' }).data as unknown as Profile;

test('defect 26: every template is filled in wholly, committed on main, and known by its profile', () => {
  const kinds: Record<string, [string | null, string | null, string | null]> = {};
  for (const template of TEMPLATES) {
    const w = created(template);
    expect(Object.values(w.files()).join('\n')).not.toMatch(/\{\{(name|package|description)\}\}/);
    expect(w.git('status', '--porcelain')).toBe('');
    expect(w.git('log', '--format=%an|%s')).toBe('Test Person|First commit');
    const profile = profileOf(w);
    kinds[template] = [profile.language, profile.framework, profile.packageManager];
    expect(profile.git).toMatchObject({ branch: 'main', modified: 0, untracked: 0, remote: null });
  }
  expect(kinds).toEqual({
    empty: [null, null, null],
    node: ['JavaScript', null, 'npm'],
    python: ['Python', null, 'pip'],
    rust: ['Rust', null, 'cargo'],
    go: ['Go', null, 'go'],
    react: ['TypeScript', 'React', 'npm'],
    next: ['TypeScript', 'Next.js', 'npm'],
  });
});

// react and next need packages of a registry first
const needs: Partial<Record<Template, string>> = { node: process.execPath, python: 'python3', rust: 'cargo', go: 'go' };
for (const [template, tool] of Object.entries(needs) as Array<[Template, string]>) {
  const there = spawnSync(tool, [template === 'go' ? 'version' : '--version']).status === 0;
  // where its toolchain is there: a template is text until then
  if (!there) continue;
  test(`a project of the ${template} template passes its test without a network`, () => {
    const w = created(template);
    const [program, ...args] = profileOf(w).test!;
    const env = { ...process.env, CARGO_NET_OFFLINE: 'true', GOFLAGS: '-mod=mod', GOPROXY: 'off', npm_config_offline: 'true' };
    const ran = spawnSync(program!, args, { cwd: w.root, env, encoding: 'utf8' });
    expect(ran.status, ran.stdout + ran.stderr).toBe(0);
    expect(ran.stdout + ran.stderr).toMatch(/OK|pass|ok/);
    expect(w.git('status', '--porcelain')).toBe('');
  });
}

test('a folder with something in it, and a name with something odd in it, are refused', () => {
  const w = created('empty', false);
  expect(readdirSync(w.root)).toEqual(['.gitignore', 'README.md']);
  expect(w.ask({ op: 'create', template: 'node', name: 'x', description: '', git: true, author })).toMatchObject({
    ok: false,
    output: 'The folder is not empty.',
  });
  const fresh = new Workspace();
  made.push(fresh);
  for (const name of ['../x', 'a b', 'a/b', '', 'ü', 'x'.repeat(65)]) {
    expect(fresh.ask({ op: 'create', template: 'node', name, description: '', git: true, author }), name).toMatchObject({ ok: false });
  }
  expect(readdirSync(join(fresh.root))).toEqual([]);
});

test('a profile tells package manager, framework and tests by the files that are there, and no password of a remote', () => {
  const w = Workspace.repository({ 'package.json': '{"dependencies":{"express":"1"},"scripts":{"test":"jest"}}', 'pnpm-lock.yaml': '' });
  made.push(w);
  w.git('remote', 'add', 'origin', 'https://user:secret@example.com/x/y.git');
  expect(profileOf(w)).toMatchObject({
    language: 'JavaScript',
    framework: 'Express',
    packageManager: 'pnpm',
    test: ['pnpm', 'test'],
    git: { remote: 'https://example.com/x/y.git' },
  });
  w.write({ 'package.json': '{ not json' });
  expect(profileOf(w)).toMatchObject({ language: 'JavaScript', test: null, git: { modified: 1 } });
  w.write({ 'package.json': null, 'pyproject.toml': '[tool.poetry]\n[tool.pytest.ini_options]\n[dependencies]\nfastapi = "1"\n' });
  expect(profileOf(w)).toMatchObject({ language: 'Python', framework: 'FastAPI', packageManager: 'poetry', test: ['poetry', 'run', 'python', '-m', 'pytest'] });
});
