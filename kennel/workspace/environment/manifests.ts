import { parse as parseToml } from 'smol-toml';
import { type Language, MANAGERS, type Manager, SERVICES, type Service } from '../../../src/contracts/environment.ts';

/** What a single file asks for. `version`: null where it names none. */
export interface Asked {
  language?: Language;
  version?: string | null;
  service?: Service;
  /** `version` is that of the package manager */
  manager?: Manager;
  /** names of Debian packages */
  packages?: readonly string[];
}

type Reader = (text: string) => Asked[];

/** Names of tools in `.tool-versions` and `mise.toml`. */
const TOOLS: Record<string, Language | Service> = {
  node: 'node',
  nodejs: 'node',
  python: 'python',
  go: 'go',
  golang: 'go',
  rust: 'rust',
  java: 'java',
  maven: 'java',
  gradle: 'java',
  cmake: 'c',
  php: 'php',
  ruby: 'ruby',
  postgres: 'postgresql',
  postgresql: 'postgresql',
  redis: 'redis',
  mysql: 'mysql',
  mariadb: 'mysql',
};
/** Their versions say nothing of the language. */
const OTHER_VERSIONS = new Set(['maven', 'gradle', 'cmake']);

const MANAGED: Record<Manager, Language> = {
  pnpm: 'node',
  yarn: 'node',
  bun: 'node',
  poetry: 'python',
  uv: 'python',
  pdm: 'python',
  pipenv: 'python',
};
const isManager = (name: string): name is Manager => (MANAGERS as readonly string[]).includes(name);
const EXACT = /^\d+(?:\.\d+)*(?:-[\w.]+)?$/;

/** A package manager, and the language that it needs. */
const managed = (manager: Manager, version: string | null = null): Asked[] => [
  { language: MANAGED[manager], version: null },
  { manager, version: version && (EXACT.test(version) || version === 'berry') ? version : null },
];

const isService = (name: string): name is Service => (SERVICES as readonly string[]).includes(name);

export function tool(name: string, version: string | null): Asked[] {
  const plain = name.replace(/^(?:core|npm|pipx):/, '').toLowerCase();
  if (isManager(plain)) return managed(plain, version);
  const known = TOOLS[plain];
  if (known === undefined) return [];
  return [
    isService(known) ? { service: known } : { language: known, version: OTHER_VERSIONS.has(name) ? null : version },
  ];
}

const only =
  (language: Language, version: (text: string) => string | null | undefined = () => null): Reader =>
  (text) => [{ language, version: orNull(() => version(text)) }];

/** A file that its own tools could not read either still names its language. */
function orNull<T>(read: () => T | null | undefined): T | null {
  try {
    return read() ?? null;
  } catch {
    return null;
  }
}

const firstLine = (text: string): string | null =>
  text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .find((line) => line !== '') ?? null;

const match = (pattern: RegExp) => (text: string) => pattern.exec(text)?.[1];

/** The first of some patterns that a text has. */
const either =
  (...patterns: RegExp[]) =>
  (text: string) =>
    patterns.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined);

/** A value deep in an object of a stranger; undefined where it is not a text. */
function at(value: unknown, ...path: string[]): string | undefined {
  let here = value;
  for (const name of path)
    here =
      typeof here === 'object' && here !== null && Object.hasOwn(here, name)
        ? (here as Record<string, unknown>)[name]
        : undefined;
  return typeof here === 'string' || typeof here === 'number' ? String(here) : undefined;
}

const inToml =
  (...paths: string[][]) =>
  (text: string) => {
    const toml = parseToml(text);
    return paths.map((path) => at(toml, ...path)).find((found) => found !== undefined);
  };
const inJson =
  (...path: string[]) =>
  (text: string) =>
    at(JSON.parse(text.replace(/^\ufeff/, '')), ...path);

const LTS: Record<string, string> = { gallium: '16', hydrogen: '18', iron: '20', jod: '22', krypton: '24' };

function nodeVersion(text: string): string | null {
  const line = firstLine(text)?.toLowerCase() ?? '';
  const lts = /^lts\/(\w+)/.exec(line)?.[1];
  return lts ? (LTS[lts] ?? null) : /^v?\d/.test(line) ? line : null;
}

function toolVersions(text: string): Asked[] {
  return text.split('\n').flatMap((line) => {
    const [name, version] = line.replace(/#.*/, '').trim().split(/\s+/);
    return name ? tool(name, version ?? null) : [];
  });
}

function mise(text: string): Asked[] {
  const { tools } = parseToml(text) as { tools?: unknown };
  if (typeof tools !== 'object' || tools === null) return [];
  return Object.entries(tools).flatMap(([name, value]) => {
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return tool(name, at({ first }, 'first') ?? at(first, 'version') ?? null);
  });
}

function packageJson(text: string): Asked[] {
  const named = (...path: string[]) => orNull(() => inJson(...path)(text));
  const [, name = '', version] = /^(\w+)(?:@([\w.-]+))?/.exec(named('packageManager') ?? '') ?? [];
  const other = named('devEngines', 'packageManager', 'name') ?? '';
  return [
    { language: 'node', version: named('engines', 'node') },
    ...(isManager(name) ? managed(name, version ?? null) : []),
    ...(isManager(other) ? managed(other, named('devEngines', 'packageManager', 'version')) : []),
  ];
}

function pyproject(text: string): Asked[] {
  const read = inToml(['project', 'requires-python'], ['tool', 'poetry', 'dependencies', 'python']);
  const names = Object.keys(orNull(() => parseToml(text) as { tool?: object })?.tool ?? {});
  const builtBy = orNull(() => inToml(['build-system', 'build-backend'])(text)) ?? '';
  const poetry = builtBy.startsWith('poetry.') ? (['poetry'] as const) : [];
  return [
    { language: 'python', version: orNull(() => read(text)) },
    ...[...poetry, ...(['poetry', 'uv', 'pdm'] as const).filter((name) => names.includes(name))].flatMap((name) =>
      managed(name),
    ),
  ];
}

/** What a configure script is made with. The macros that it uses name further packages. */
const autotools: Reader = (text) => [
  {
    language: 'c',
    version: null,
    packages: [
      'autoconf',
      'automake',
      'libtool',
      ...(/\bAM_GNU_GETTEXT\b/.test(text) ? ['autopoint', 'gettext'] : []),
      ...(/\bAX_[A-Z]/.test(text) ? ['autoconf-archive'] : []),
      ...(/\bAC_PROG_YACC\b|\bbison\b/.test(text) ? ['bison'] : []),
      ...(/\b(?:AC_PROG_LEX|AM_PROG_LEX)\b|\bflex\b/.test(text) ? ['flex'] : []),
    ],
  },
];

/**
 * Whether `Cargo.toml` is of a project, and does not only lie there: Cargo builds nothing without a target or members.
 */
export function isCargoProject(text: string, isThere: (path: string) => boolean): boolean {
  const toml = orNull(() => parseToml(text)) as Record<string, unknown> | null;
  if (!toml) return false;
  const members = (toml.workspace as { members?: unknown } | undefined)?.members;
  if (Array.isArray(members) && members.length > 0) return true;
  if (toml.package === undefined) return false;
  const bins = Array.isArray(toml.bin) ? toml.bin : [];
  const named = [toml.lib, ...bins].flatMap((target) => at(target, 'path') ?? []);
  return ['src/lib.rs', 'src/main.rs', 'src/bin', ...named].some(isThere);
}

const rustToolchain = only('rust', (text) =>
  text.includes('[') ? inToml(['toolchain', 'channel'])(text) : firstLine(text),
);

/** Files that name what a repository needs. Of two that ask for one language, the earlier decides. */
export const MANIFESTS: Record<string, Reader> = {
  '.tool-versions': toolVersions,
  'mise.toml': mise,
  '.mise.toml': mise,
  '.nvmrc': only('node', nodeVersion),
  '.node-version': only('node', nodeVersion),
  '.python-version': only('python', firstLine),
  '.ruby-version': only('ruby', firstLine),
  '.java-version': only('java', firstLine),
  '.go-version': only('go', firstLine),
  '.php-version': only('php', firstLine),
  'rust-toolchain.toml': rustToolchain,
  'rust-toolchain': rustToolchain,
  'go.mod': only('go', either(/^toolchain[ \t]+go([\d.]+)/m, /^go[ \t]+([\d.]+)/m)),
  'Cargo.toml': only('rust', inToml(['package', 'rust-version'])),
  'pyproject.toml': pyproject,
  'requirements.txt': only('python'),
  'setup.py': only('python'),
  Pipfile: (text) => [
    { language: 'python', version: orNull(() => inToml(['requires', 'python_version'])(text)) },
    ...managed('pipenv'),
  ],
  'package.json': packageJson,
  'pom.xml': only('java', match(/<(?:maven\.compiler\.(?:release|source)|java\.version|release)>\s*([\d.]{1,12})\s*</)),
  'build.gradle': only(
    'java',
    either(/languageVersion[^\d\n]{0,40}(\d{1,3})/, /sourceCompatibility[^\d\n]{0,40}([\d.]{1,5})/),
  ),
  'build.gradle.kts': only(
    'java',
    either(/languageVersion[^\d\n]{0,40}(\d{1,3})/, /sourceCompatibility[^\d\n]{0,40}([\d.]{1,5})/),
  ),
  'composer.json': only('php', inJson('require', 'php')),
  Gemfile: only('ruby', match(/^[ \t]*ruby[ \t(]+['"]([^'"\n]{1,40})['"]/m)),
  'CMakeLists.txt': only('c'),
  'configure.ac': autotools,
  'configure.in': autotools,
  'Makefile.am': autotools,
  'meson.build': only('c'),
};

/** Files that name a package manager by being there: a lock file may be larger than what is read. */
export const LOCKS: Record<string, Asked[]> = {
  'pnpm-lock.yaml': managed('pnpm'),
  'pnpm-workspace.yaml': managed('pnpm'),
  '.yarnrc.yml': managed('yarn', 'berry'),
  'yarn.lock': managed('yarn'),
  'bun.lock': managed('bun'),
  'bun.lockb': managed('bun'),
  'poetry.lock': managed('poetry'),
  'uv.lock': managed('uv'),
  'uv.toml': managed('uv'),
  'pdm.lock': managed('pdm'),
  'Pipfile.lock': managed('pipenv'),
};

/** Languages whose sources are told by their names, where no manifest names them. Python itself is in every image. */
export const SOURCES: Record<string, Language> = {
  c: 'c',
  cc: 'c',
  cpp: 'c',
  cxx: 'c',
  go: 'go',
  rs: 'rust',
  java: 'java',
  php: 'php',
  rb: 'ruby',
};
