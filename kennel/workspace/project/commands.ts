import { isDotnet, makeTarget, type ProjectFiles } from './start.ts';

/** How a project is installed, built, linted and its types checked, by its files. It runs nothing of the workspace. */

type Argv = string[] | null;

interface Commands {
  install: Argv;
  build: Argv;
  types: Argv;
  lint: Argv;
}

const NONE: Commands = { install: null, build: null, types: null, lint: null };

export function workCommands(files: ProjectFiles, packageManager: string | null): Commands {
  const found = byKind(files, packageManager);
  const makefile = files.text('Makefile');
  const target = (...names: string[]): Argv =>
    names.map((name) => makeTarget(makefile, name)).find((argv) => argv !== null) ?? null;
  return {
    ...found,
    types: found.types ?? target(...TYPE_SCRIPTS),
    lint: found.lint ?? target('lint'),
  };
}

/** Names of scripts and targets that check types. */
export const TYPE_SCRIPTS = ['typecheck', 'type-check', 'check-types', 'check:types', 'types', 'tsc'] as const;

function byKind(files: ProjectFiles, manager: string | null): Commands {
  const { has, text } = files;
  switch (manager) {
    case 'npm':
    case 'pnpm':
    case 'yarn':
    case 'bun':
      return ofNode(files, manager);
    case 'cargo':
      // tests and examples, too, which a build leaves out
      return {
        ...NONE,
        install: ['cargo', 'fetch'],
        build: ['cargo', 'build'],
        types: ['cargo', 'check', '--all-targets'],
      };
    case 'go':
      return {
        install: /^require\b/m.test(text('go.mod')) ? ['go', 'mod', 'download'] : null,
        build: ['go', 'build', './...'],
        types: ['go', 'vet', './...'],
        lint: ['.golangci.yml', '.golangci.yaml', '.golangci.toml'].some(has) ? ['golangci-lint', 'run'] : null,
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
  const loaded = (group: string): string[] =>
    manifest[group] && typeof manifest[group] === 'object' ? Object.keys(manifest[group]) : [];
  const loads =
    manifest.workspaces !== undefined ||
    ['dependencies', 'devDependencies', 'optionalDependencies'].some((group) => loaded(group).length > 0);
  const scripts = (manifest.scripts ?? {}) as Record<string, unknown>;
  const script = (name: string): Argv =>
    typeof scripts[name] === 'string' && scripts[name] !== '' ? [manager, 'run', name] : null;
  const typed = TYPE_SCRIPTS.map(script).find((argv) => argv !== null);
  const install = loads ? installOfNode(manager, has) : null;
  return {
    install,
    build: script('build'),
    types: typed ?? compilerOf({ has, text }, manager, [...loaded('dependencies'), ...loaded('devDependencies')]),
    lint: script('lint'),
  };
}

/** The compiler of a project that names none in its scripts; null where its build asks it, or it has parts of their own. */
function compilerOf(
  { has, text }: Pick<ProjectFiles, 'has' | 'text'>,
  manager: 'npm' | 'pnpm' | 'yarn' | 'bun',
  packages: readonly string[],
): Argv {
  const scripts = JSON.stringify(manifestIn(text('package.json')).scripts ?? {});
  const compiler = ['vue-tsc', 'typescript'].find((name) => packages.includes(name));
  const isPlain = has('tsconfig.json') && !/"references"/.test(text('tsconfig.json'));
  if (!compiler || !isPlain || /\b(?:vue-)?tsc\b/.test(scripts)) return null;
  const program = compiler === 'typescript' ? 'tsc' : compiler;
  const start = { npm: ['npx', '--no-install'], pnpm: ['pnpm', 'exec'], yarn: ['yarn', 'run'], bun: ['bun', 'run'] };
  return [...start[manager], program, '--noEmit'];
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
  types: typesOfPython({ has, text }, run),
  lint: has('ruff.toml') || /^\[tool\.ruff\b/m.test(text('pyproject.toml')) ? [...run, 'ruff', 'check', '.'] : null,
});

/** By the checker that the project has settings for. */
function typesOfPython({ has, text }: Pick<ProjectFiles, 'has' | 'text'>, run: string[]): Argv {
  const project = text('pyproject.toml');
  if (has('pyrightconfig.json') || /^\[tool\.(?:based)?pyright\]/m.test(project)) return [...run, 'pyright'];
  const settings = [text('mypy.ini'), text('.mypy.ini'), text('setup.cfg'), project].find((each) =>
    /^\[(?:tool\.)?mypy\]/m.test(each),
  );
  if (settings === undefined) return null;
  const [, own = ''] = settings.split(/^\[(?:tool\.)?mypy\]/m);
  const namesFiles = /^(?:files|packages|modules)\s*=/m.test(own.split(/^\[/m)[0]!);
  return [...run, 'mypy', ...(namesFiles ? [] : ['.'])];
}

function withPip({ has, text }: ProjectFiles): Argv {
  const lists = ['requirements.txt', 'requirements-dev.txt'].filter((name) => text(name).trim() !== '');
  const pip = ['python3', '-m', 'pip', 'install', '--user'];
  if (lists.length > 0) return [...pip, ...lists.flatMap((name) => ['-r', name])];
  return has('setup.py') || /^\[project\]/m.test(text('pyproject.toml')) ? [...pip, '-e', '.'] : null;
}
