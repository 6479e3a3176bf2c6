import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Profile, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { isCargoProject } from '../environment/manifests.ts';
import { readText } from '../files/text.ts';
import { tryGit } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { openRepository, type Place } from '../git/repository.ts';
import { workCommands } from './commands.ts';
import { statusOf } from './git-tools.ts';
import { isDotnet, makeTarget, type ProjectFiles, startCommand } from './start.ts';

/** The kind of project, by its manifest files. It runs nothing of the workspace. */
export function profile(place: Place): WorkspaceAnswer {
  const found: Profile = { ...projectOf(place.root), git: null };
  const repository = openRepository(place);
  if (repository) {
    const status = statusOf(repository);
    found.git = {
      branch: status.branch,
      head: status.head,
      modified: new Set([...status.staged, ...status.modified, ...status.conflicting]).size,
      untracked: status.untracked.length,
      staged: status.staged.length,
      unstaged: new Set([...status.modified, ...status.conflicting]).size,
      upstream: status.upstream !== null,
      ahead: status.ahead,
      behind: status.behind,
      remote: remoteOf(repository, status.branch),
    };
  }
  return { ok: true, output: described(found), data: { ...found } };
}

function described(found: Profile): string {
  const what =
    [found.framework ? `${found.language} (${found.framework})` : found.language, found.packageManager]
      .filter(Boolean)
      .join(', ') || 'no known kind of project';
  const tests = found.test ? `, tests: ${found.test.join(' ')}` : '';
  if (!found.git) return `${what}${tests}, no git repository`;
  const { branch, head, modified, untracked, ahead, behind } = found.git;
  const track = ahead || behind ? `, ${ahead} ahead, ${behind} behind` : '';
  return `${what}${tests}, on ${branch ?? head?.slice(0, 10)}${head ? '' : ' (no commits yet)'}, ${modified} modified, ${untracked} untracked${track}`;
}

/** The URL without user and password. */
function remoteOf(repository: Parameters<typeof tryGit>[0], branch: string | null): string | null {
  const value = (key: string): string | null => {
    const read = tryGit(repository, ['config', '--get', key]);
    return read.code === 0 ? utf8(read.stdout.trim()) : null;
  };
  const name = (branch && value(`branch.${branch}.remote`)) || 'origin';
  return value(`remote.${name}.url`)?.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^@/]*@/i, '$1') ?? null;
}

type Project = Omit<Profile, 'git' | 'run' | 'install' | 'build' | 'types' | 'lint'>;

export const testCommand = (root: string): string[] | null => projectOf(root).test;

/** With how it is worked on, and with the tests of other files when its manifest names none. */
export function projectOf(root: string): Omit<Profile, 'git'> {
  const files = filesOf(root);
  const project = kindOf(root, files);
  const test =
    project.test ??
    (files.has('deno.json') || files.has('deno.jsonc') ? ['deno', 'test'] : makeTarget(files.text('Makefile'), 'test'));
  const { packageManager } = project;
  return { ...project, test, run: startCommand(files, packageManager), ...workCommands(files, packageManager) };
}

function filesOf(root: string): ProjectFiles {
  const has = (name: string): boolean => {
    try {
      return statSync(join(root, name)).isFile();
    } catch {
      return false;
    }
  };
  const text = (name: string): string => {
    try {
      return has(name) ? readText(join(root, name), name, 1024 * 1024) : '';
    } catch {
      return '';
    }
  };
  return { has, text, names: names(root) };
}

function kindOf(root: string, { has, text, names }: ProjectFiles): Project {
  if (has('package.json')) return nodeProject(text('package.json'), has);
  if (
    has('Cargo.toml') &&
    isCargoProject(text('Cargo.toml'), (path) => existsSync(join(root, path))) &&
    !isPythonPackage(text('pyproject.toml'))
  )
    return rustProject(text('Cargo.toml'));
  if (has('go.mod'))
    return {
      language: 'Go',
      framework: first(text('go.mod'), GO),
      packageManager: 'go',
      test: ['go', 'test', './...'],
    };
  if (has('pyproject.toml') || has('requirements.txt') || has('setup.py') || has('Pipfile'))
    return pythonProject(root, has, text);
  if (has('pom.xml'))
    return {
      language: 'Java',
      framework: first(text('pom.xml'), JAVA),
      packageManager: 'maven',
      test: [has('mvnw') ? './mvnw' : 'mvn', '-q', 'test'],
    };
  if (has('build.gradle') || has('build.gradle.kts')) {
    const build = text('build.gradle') + text('build.gradle.kts');
    return {
      language: build.includes('kotlin') ? 'Kotlin' : 'Java',
      framework: first(build, JAVA),
      packageManager: 'gradle',
      test: [has('gradlew') ? './gradlew' : 'gradle', 'test'],
    };
  }
  if (has('composer.json'))
    return {
      language: 'PHP',
      framework: first(text('composer.json'), PHP),
      packageManager: 'composer',
      test: has('phpunit.xml') || has('phpunit.xml.dist') ? ['vendor/bin/phpunit'] : null,
    };
  if (has('Gemfile')) {
    const gems = text('Gemfile');
    return {
      language: 'Ruby',
      framework: first(gems, RUBY),
      packageManager: 'bundler',
      test: gems.includes('rspec') ? ['bundle', 'exec', 'rspec'] : ['bundle', 'exec', 'rake', 'test'],
    };
  }
  if (has('mix.exs'))
    return {
      language: 'Elixir',
      framework: first(text('mix.exs'), { phoenix: 'Phoenix' }),
      packageManager: 'mix',
      test: ['mix', 'test'],
    };
  if (has('Package.swift'))
    return { language: 'Swift', framework: null, packageManager: 'swift', test: ['swift', 'test'] };
  if (isDotnet(names)) return { language: 'C#', framework: null, packageManager: 'dotnet', test: ['dotnet', 'test'] };
  if (has('deno.json') || has('deno.jsonc'))
    return { language: 'TypeScript', framework: null, packageManager: 'deno', test: ['deno', 'test'] };
  if (has('configure.ac') || has('configure.in'))
    return {
      language: 'C',
      framework: null,
      packageManager: 'autotools',
      test: has('Makefile') ? ['make', 'check'] : null,
    };
  if (has('CMakeLists.txt')) return { language: 'C++', framework: null, packageManager: 'cmake', test: null };
  const makefile = text('Makefile');
  // without a target, but nothing else says what it is
  if (!makefile && /^\[package\]/m.test(text('Cargo.toml'))) return rustProject(text('Cargo.toml'));
  return { language: byExtension(root), framework: null, packageManager: makefile ? 'make' : null, test: null };
}

const rustProject = (cargo: string): Project => ({
  language: 'Rust',
  framework: first(cargo, RUST),
  packageManager: 'cargo',
  test: ['cargo', 'test'],
});

/** A Python package may have parts in Rust: maturin and setuptools-rust build both. */
const isPythonPackage = (pyproject: string): boolean => /^\[(?:project|build-system)\]/m.test(pyproject);

const RUST = { axum: 'Axum', 'actix-web': 'Actix', rocket: 'Rocket', leptos: 'Leptos', tauri: 'Tauri', bevy: 'Bevy' };
const GO = { 'gin-gonic/gin': 'Gin', 'labstack/echo': 'Echo', 'gofiber/fiber': 'Fiber', 'go-chi/chi': 'chi' };
const JAVA = { 'spring-boot': 'Spring Boot', quarkus: 'Quarkus', micronaut: 'Micronaut' };
const PHP = { 'laravel/framework': 'Laravel', 'symfony/': 'Symfony' };
const RUBY = { rails: 'Rails', sinatra: 'Sinatra' };
const PYTHON = { django: 'Django', fastapi: 'FastAPI', flask: 'Flask', streamlit: 'Streamlit' };
const NODE: Record<string, string> = {
  next: 'Next.js',
  nuxt: 'Nuxt',
  '@remix-run/react': 'Remix',
  '@sveltejs/kit': 'SvelteKit',
  astro: 'Astro',
  '@angular/core': 'Angular',
  'react-native': 'React Native',
  '@nestjs/core': 'NestJS',
  electron: 'Electron',
  react: 'React',
  vue: 'Vue',
  svelte: 'Svelte',
  fastify: 'Fastify',
  express: 'Express',
  koa: 'Koa',
  hono: 'Hono',
};

const first = (text: string, known: Record<string, string>): string | null =>
  Object.entries(known).find(([mark]) => text.toLowerCase().includes(mark))?.[1] ?? null;

function nodeProject(manifest: string, has: (name: string) => boolean): Project {
  let json: {
    dependencies?: unknown;
    devDependencies?: unknown;
    scripts?: { test?: unknown };
    packageManager?: unknown;
  } = {};
  try {
    json = JSON.parse(manifest.replace(/^\ufeff/, '')) ?? {};
  } catch {}
  const names = new Set(
    [json.dependencies, json.devDependencies].flatMap((group) =>
      group && typeof group === 'object' ? Object.keys(group) : [],
    ),
  );
  const said =
    typeof json.packageManager === 'string' ? /^(npm|pnpm|yarn|bun)@/.exec(json.packageManager)?.[1] : undefined;
  const packageManager =
    said ??
    (has('pnpm-lock.yaml') ? 'pnpm' : has('yarn.lock') ? 'yarn' : has('bun.lock') || has('bun.lockb') ? 'bun' : 'npm');
  const script = typeof json.scripts?.test === 'string' ? json.scripts.test : '';
  const test =
    script !== '' && !script.includes('no test specified')
      ? [packageManager, ...(packageManager === 'bun' ? ['run'] : []), 'test']
      : null;
  return {
    language: has('tsconfig.json') || names.has('typescript') ? 'TypeScript' : 'JavaScript',
    framework: Object.entries(NODE).find(([name]) => names.has(name))?.[1] ?? null,
    packageManager,
    test,
  };
}

function pythonProject(root: string, has: (name: string) => boolean, text: (name: string) => string): Project {
  const project = text('pyproject.toml');
  const all = project + text('requirements.txt') + text('requirements-dev.txt') + text('setup.py') + text('Pipfile');
  const packageManager =
    (['uv', 'poetry', 'pdm'] as const).find((name) => has(`${name}.lock`)) ??
    (has('Pipfile')
      ? 'pipenv'
      : (['poetry', 'pdm', 'uv'] as const).find((name) => project.includes(`[tool.${name}`))) ??
    'pip';
  const pytest = all.includes('pytest') || has('pytest.ini') || has('conftest.py') || has('tests/conftest.py');
  const before = packageManager === 'pip' ? [] : [packageManager, 'run'];
  const interpreter = packageManager === 'pip' ? 'python3' : 'python';
  const hasTests = names(root).some((name) => name === 'tests' || /^test.*\.py$/.test(name));
  const test = pytest
    ? [...before, interpreter, '-m', 'pytest']
    : hasTests
      ? [...before, interpreter, '-m', 'unittest', 'discover']
      : null;
  return { language: 'Python', framework: first(all, PYTHON), packageManager, test };
}

function names(root: string): string[] {
  try {
    return readdirSync(root).slice(0, 2_000);
  } catch {
    return [];
  }
}

const EXTENSIONS: Record<string, string> = {
  ts: 'TypeScript',
  js: 'JavaScript',
  mjs: 'JavaScript',
  py: 'Python',
  rs: 'Rust',
  go: 'Go',
  rb: 'Ruby',
  php: 'PHP',
  java: 'Java',
  c: 'C',
  cc: 'C++',
  cpp: 'C++',
  sh: 'Shell',
  html: 'HTML',
};

function byExtension(root: string): string | null {
  const counts = new Map<string, number>();
  for (const folder of [root, join(root, 'src')]) {
    for (const name of names(folder)) {
      const language = EXTENSIONS[name.split('.').at(-1)!];
      if (language && name.includes('.')) counts.set(language, (counts.get(language) ?? 0) + 1);
    }
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}
