import { isDotnet, makeTarget, type ProjectFiles } from './start.ts';

/** How a project is installed, built and linted, by its files. It runs nothing of the workspace. */

type Argv = string[] | null;

interface Commands {
  install: Argv;
  build: Argv;
  lint: Argv;
}

const NONE: Commands = { install: null, build: null, lint: null };

export function workCommands(files: ProjectFiles, packageManager: string | null): Commands {
  const found = byKind(files, packageManager);
  const makefile = files.text('Makefile');
  return { ...found, lint: found.lint ?? makeTarget(makefile, 'lint') };
}

function byKind(files: ProjectFiles, manager: string | null): Commands {
  const { has, text } = files;
  switch (manager) {
    case 'npm':
    case 'pnpm':
    case 'yarn':
    case 'bun':
      return ofNode(files, manager);
    case 'cargo':
      return { install: ['cargo', 'fetch'], build: ['cargo', 'build'], lint: null };
    case 'go':
      return {
        install: /^require\b/m.test(text('go.mod')) ? ['go', 'mod', 'download'] : null,
        build: ['go', 'build', './...'],
        lint: ['go', 'vet', './...'],
      };
    case 'uv':
      return ofPython(files, ['uv', 'sync'], ['uv', 'run']);
    case 'poetry':
      return ofPython(files, ['poetry', 'install'], ['poetry', 'run']);
    case 'pdm':
      return ofPython(files, ['pdm', 'install'], ['pdm', 'run']);
    case 'pipenv':
      return ofPython(files, ['pipenv', 'install', '--dev'], ['pipenv', 'run']);
    case 'pip':
      return ofPython(files, withPip(files), ['python3', '-m']);
    case 'maven':
      return { ...NONE, build: [has('mvnw') ? './mvnw' : 'mvn', '-q', '-B', 'test-compile'] };
    case 'gradle':
      return { ...NONE, build: [has('gradlew') ? './gradlew' : 'gradle', 'assemble'] };
    case 'composer':
      return { ...NONE, install: ['composer', 'install', '--no-interaction'] };
    case 'bundler':
      return { ...NONE, install: ['bundle', 'install'] };
    case 'mix':
      return { ...NONE, install: ['mix', 'deps.get'], build: ['mix', 'compile'] };
    default:
      return isDotnet(files.names) ? { ...NONE, install: ['dotnet', 'restore'], build: ['dotnet', 'build'] } : NONE;
  }
}

function ofNode({ has, text }: ProjectFiles, manager: 'npm' | 'pnpm' | 'yarn' | 'bun'): Commands {
  const manifest = manifestIn(text('package.json'));
  const names = (group: string): string[] =>
    manifest[group] && typeof manifest[group] === 'object' ? Object.keys(manifest[group]) : [];
  const loads =
    manifest.workspaces !== undefined ||
    ['dependencies', 'devDependencies', 'optionalDependencies'].some((group) => names(group).length > 0);
  const scripts = (manifest.scripts ?? {}) as Record<string, unknown>;
  const script = (name: string): Argv =>
    typeof scripts[name] === 'string' && scripts[name] !== '' ? [manager, 'run', name] : null;
  return { install: loads ? installOfNode(manager, has) : null, build: script('build'), lint: script('lint') };
}

/** By the lock file where there is one, so that it is the same each time. */
function installOfNode(manager: 'npm' | 'pnpm' | 'yarn' | 'bun', has: ProjectFiles['has']): string[] {
  switch (manager) {
    case 'npm':
      return ['npm', has('package-lock.json') || has('npm-shrinkwrap.json') ? 'ci' : 'install'];
    case 'pnpm':
      return ['pnpm', 'install', ...(has('pnpm-lock.yaml') ? ['--frozen-lockfile'] : [])];
    case 'yarn':
      return [
        'yarn',
        'install',
        ...(has('yarn.lock') ? [has('.yarnrc.yml') ? '--immutable' : '--frozen-lockfile'] : []),
      ];
    case 'bun':
      return ['bun', 'install', ...(has('bun.lock') || has('bun.lockb') ? ['--frozen-lockfile'] : [])];
  }
}

function manifestIn(json: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(json.replace(/^\ufeff/, ''));
    return found && typeof found === 'object' ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const ofPython = ({ has, text }: ProjectFiles, install: Argv, run: string[]): Commands => ({
  install,
  build: null,
  lint: has('ruff.toml') || /^\[tool\.ruff\b/m.test(text('pyproject.toml')) ? [...run, 'ruff', 'check', '.'] : null,
});

function withPip({ has, text }: ProjectFiles): Argv {
  const lists = ['requirements.txt', 'requirements-dev.txt'].filter((name) => text(name).trim() !== '');
  const pip = ['python3', '-m', 'pip', 'install', '--user'];
  if (lists.length > 0) return [...pip, ...lists.flatMap((name) => ['-r', name])];
  return has('setup.py') || /^\[project\]/m.test(text('pyproject.toml')) ? [...pip, '-e', '.'] : null;
}
