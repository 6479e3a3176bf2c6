import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse as parseToml } from 'smol-toml';
import { afterEach, expect, test } from 'vitest';
import type { Place } from '../../../kennel/workspace/git/repository.ts';
import { create } from '../../../kennel/workspace/project/create.ts';
import { Refusal } from '../../../kennel/workspace/refusal.ts';
import { type Profile, TEMPLATES, type Template } from '../../../src/contracts/workspace-ops.ts';
import { anyText } from '../../support/any-text.ts';
import { holds } from '../../support/property.ts';
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

const HOSTILE = [
  'EOF\ntouch pwned; $(touch pwned) `touch pwned`\nEOF',
  "'; touch pwned; echo '",
  '"; touch pwned; "',
  '$(touch pwned)',
  '--upload-pack=touch pwned',
  '{{name}} {{description}} {{package}}',
  '*/ process.exit(1) /*',
  '"""\nimport os; os.system("touch pwned")\n"""',
  '\\',
  '</script><script>alert(1)</script>',
  '\n[package]\nname = "other"\n',
  'half \ud83d of a pair',
];

/**
 * The files of a new project, made in this process: a program for each would take minutes. Null when the description is
 * refused.
 */
function filesWith(
  template: Template,
  description: string,
): { names: string[]; read: (path: string) => string } | null {
  const w = new Workspace();
  made.push(w);
  try {
    create({ root: w.root } as Place, { template, name: 'My_App-1', description, git: false, author });
  } catch (error) {
    expect([error instanceof Refusal, readdirSync(w.root)]).toEqual([true, []]);
    return null;
  }
  expect(readdirSync(w.base).toSorted()).toEqual(['side', 'w']);
  return { names: Object.keys(w.files()).toSorted(), read: (path) => w.read(path) };
}

test('defect 26: a description is text in every template: nothing of it is run, and no file is more or less for it', () => {
  for (const template of TEMPLATES) {
    const { names } = filesWith(template, '')!;
    for (const description of HOSTILE) {
      const files = filesWith(template, description);
      // what no file can hold is refused, and nothing is left
      expect([template, description, files === null]).toEqual([template, description, !description.isWellFormed()]);
      if (!files) continue;
      expect([template, description, files.names]).toEqual([template, description, names]);
      // what programs read is still what the template has
      if (names.includes('package.json'))
        expect(JSON.parse(files.read('package.json'))).toMatchObject({ name: 'my_app-1' });
      if (names.includes('Cargo.toml'))
        expect(parseToml(files.read('Cargo.toml'))).toMatchObject({ package: { name: 'my_app-1' } });
      if (names.includes('pyproject.toml'))
        expect(parseToml(files.read('pyproject.toml'))).toMatchObject({ project: { name: 'my_app-1' } });
    }
  }
});

test('defect 26: any text is a description, or is refused with a reason, and stays a text in package.json', () => {
  holds(
    fc.property(anyText, (description) => {
      const files = filesWith('node', description);
      if (files)
        expect(JSON.parse(files.read('package.json')).description).toBe(
          description.replace(/\s+/g, ' ').trim() || 'My_App-1',
        );
    }),
    { runs: 50, soak: 2_000 },
  );
});

test('defect 26: a template that could not be finished is a failure that says so', () => {
  for (const template of ['node', 'rust'] as const) {
    const w = new Workspace();
    made.push(w);
    // the files are written, and then there is no git for the first commit
    w.env = { PATH: '/nonexistent' };
    const { status, stdout, stderr } = w.run({ op: 'create', template, name: 'x', description: '', git: true, author });
    const ok = status === 0 && (JSON.parse(stdout) as { ok: boolean }).ok;
    expect([template, ok, `${stdout}${stderr}`.includes('git')]).toEqual([template, false, true]);
  }
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
    const env = {
      ...process.env,
      CARGO_NET_OFFLINE: 'true',
      GOFLAGS: '-mod=mod',
      GOPROXY: 'off',
      npm_config_offline: 'true',
    };
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
    expect(fresh.ask({ op: 'create', template: 'node', name, description: '', git: true, author }), name).toMatchObject(
      { ok: false },
    );
  }
  expect(readdirSync(join(fresh.root))).toEqual([]);
});

test('a profile tells package manager, framework and tests by the files that are there, and no password of a remote', () => {
  const w = Workspace.repository({
    'package.json': '{"dependencies":{"express":"1"},"scripts":{"test":"jest"}}',
    'pnpm-lock.yaml': '',
  });
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
  expect(profileOf(w).git).toMatchObject({ staged: 0, unstaged: 1, upstream: false });
  w.git('add', 'package.json');
  w.write({ 'package.json': '{ not json either' });
  expect(profileOf(w).git).toMatchObject({ modified: 1, staged: 1, unstaged: 1 });
  w.git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  w.git('branch', '--set-upstream-to', 'origin/main');
  expect(profileOf(w).git).toMatchObject({ upstream: true, ahead: 0, behind: 0 });
  w.write({
    'package.json': null,
    'pyproject.toml': '[tool.poetry]\n[tool.pytest.ini_options]\n[dependencies]\nfastapi = "1"\n',
  });
  expect(profileOf(w)).toMatchObject({
    language: 'Python',
    framework: 'FastAPI',
    packageManager: 'poetry',
    test: ['poetry', 'run', 'python', '-m', 'pytest'],
  });
});
