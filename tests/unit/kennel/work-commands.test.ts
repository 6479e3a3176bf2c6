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
  ['Go', 'go', { 'go.mod': 'module a\nrequire b v1\n' }, ['go mod download', 'go build ./...', 'go vet ./...']],
  ['Go without modules', 'go', { 'go.mod': 'module a\n' }, [null, 'go build ./...', 'go vet ./...']],
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
