import { expect, it } from 'vitest';
import { workCommands } from '../../../kennel/workspace/project/commands.ts';

/** A project with these files; those without a text are empty. */
const project = (files: Record<string, string>) => ({
  has: (name: string) => name in files,
  text: (name: string) => files[name] ?? '',
  names: Object.keys(files),
});
const line = (argv: string[] | null) => argv?.join(' ') ?? null;
const node = JSON.stringify({ devDependencies: { left: '1' }, scripts: { build: 'tsc', lint: 'biome check' } });

it.each<[string, string | null, Record<string, string>, Array<string | null>]>([
  [
    'npm with a lock',
    'npm',
    { 'package.json': node, 'package-lock.json': '' },
    ['npm ci', 'npm run build', 'npm run lint'],
  ],
  ['npm without a lock', 'npm', { 'package.json': node }, ['npm install', 'npm run build', 'npm run lint']],
  ['nothing to load', 'npm', { 'package.json': '{}' }, [null, null, null]],
  ['a manifest that is no JSON', 'npm', { 'package.json': '{' }, [null, null, null]],
  [
    'pnpm',
    'pnpm',
    { 'package.json': '{"workspaces":[]}', 'pnpm-lock.yaml': '' },
    ['pnpm install --frozen-lockfile', null, null],
  ],
  [
    'yarn 1',
    'yarn',
    { 'package.json': '{"dependencies":{"a":"1"}}', 'yarn.lock': '' },
    ['yarn install --frozen-lockfile', null, null],
  ],
  [
    'yarn 4',
    'yarn',
    { 'package.json': '{"dependencies":{"a":"1"}}', 'yarn.lock': '', '.yarnrc.yml': '' },
    ['yarn install --immutable', null, null],
  ],
  ['Go', 'go', { 'go.mod': 'module a\nrequire b v1\n' }, ['go mod download', 'go build ./...', null]],
  [
    'Go with a linter',
    'go',
    { 'go.mod': 'module a\n', '.golangci.yml': '' },
    [null, 'go build ./...', 'golangci-lint run'],
  ],
  ['Rust', 'cargo', { 'Cargo.toml': '' }, ['cargo fetch', 'cargo build', null]],
  [
    'pip',
    'pip',
    { 'requirements.txt': 'a\n', 'requirements-dev.txt': 'b\n', 'ruff.toml': '' },
    ['python3 -m pip install --user -r requirements.txt -r requirements-dev.txt', null, 'python3 -m ruff check .'],
  ],
  [
    'pip with a package',
    'pip',
    { 'pyproject.toml': '[project]\n' },
    ['python3 -m pip install --user -e .', null, null],
  ],
  ['uv', 'uv', { 'pyproject.toml': '[tool.ruff]\n' }, ['uv sync', null, 'uv run ruff check .']],
  ['make', 'make', { Makefile: 'lint:\n\ttrue\n' }, [null, null, 'make lint']],
  ['.NET', 'dotnet', { 'a.csproj': '' }, ['dotnet restore', 'dotnet build', null]],
  ['nothing that is known', null, { 'README.md': '' }, [null, null, null]],
])('a project is installed, built and linted by its files: %s', (_, manager, files, expected) => {
  const { install, build, lint } = workCommands(project(files), manager);
  expect([install, build, lint].map(line)).toEqual(expected);
});

const typed = (scripts: Record<string, string>, devDependencies: Record<string, string> = { typescript: '5' }) =>
  JSON.stringify({ scripts, devDependencies });

it.each<[string, string, Record<string, string>, string | null]>([
  ['a script', 'pnpm', { 'package.json': typed({ 'type-check': 'vue-tsc' }) }, 'pnpm run type-check'],
  [
    'npm and the compiler',
    'npm',
    { 'package.json': typed({}), 'tsconfig.json': '{}' },
    'npx --no-install tsc --noEmit',
  ],
  ['pnpm and the compiler', 'pnpm', { 'package.json': typed({}), 'tsconfig.json': '' }, 'pnpm exec tsc --noEmit'],
  [
    'the compiler of Vue',
    'yarn',
    { 'package.json': typed({}, { typescript: '5', 'vue-tsc': '2' }), 'tsconfig.json': '' },
    'yarn run vue-tsc --noEmit',
  ],
  ['a build by the compiler', 'npm', { 'package.json': typed({ build: 'tsc -p .' }), 'tsconfig.json': '' }, null],
  ['projects of projects', 'npm', { 'package.json': typed({}), 'tsconfig.json': '{"references":[]}' }, null],
  ['JavaScript', 'npm', { 'package.json': typed({}, { left: '1' }), 'tsconfig.json': '' }, null],
  ['mypy', 'uv', { 'pyproject.toml': '[tool.mypy]\nstrict = true\n[tool.x]\nfiles = 1\n' }, 'uv run mypy .'],
  ['mypy with files', 'pip', { 'mypy.ini': '[mypy]\nfiles = src\n' }, 'python3 -m mypy'],
  ['pyright', 'poetry', { 'pyproject.toml': '[tool.pyright]\n' }, 'poetry run pyright'],
  ['Python without a checker', 'pip', { 'pyproject.toml': '[project]\n' }, null],
  ['Go', 'go', { 'go.mod': 'module a\n' }, 'go vet ./...'],
  ['Rust', 'cargo', { 'Cargo.toml': '' }, 'cargo check --all-targets'],
  ['make', 'make', { Makefile: 'typecheck:\n\ttrue\n' }, 'make typecheck'],
])('types of a project are checked by its files: %s', (_, manager, files, expected) => {
  expect(line(workCommands(project(files), manager).types)).toBe(expected);
});
