import { parse as parseToml } from 'smol-toml';
import { type Language, SERVICES, type Service } from '../../../src/contracts/environment.ts';

/** What a single file asks for. `version`: null where it names none. */
export interface Asked {
  language?: Language;
  version?: string | null;
  service?: Service;
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

const isService = (name: string): name is Service => (SERVICES as readonly string[]).includes(name);

export function tool(name: string, version: string | null): Asked[] {
  const known = TOOLS[name.replace(/^core:/, '').toLowerCase()];
  if (known === undefined) return [];
  return [
    isService(known) ? { service: known } : { language: known, version: OTHER_VERSIONS.has(name) ? null : version },
  ];
}

const only =
  (language: Language, version: (text: string) => string | null | undefined = () => null): Reader =>
  (text) => [{ language, version: orNull(() => version(text)) }];

/** A file that its own tools could not read either still names its language. */
function orNull(read: () => string | null | undefined): string | null {
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
  'pyproject.toml': only(
    'python',
    inToml(['project', 'requires-python'], ['tool', 'poetry', 'dependencies', 'python']),
  ),
  'requirements.txt': only('python'),
  'setup.py': only('python'),
  Pipfile: only('python', inToml(['requires', 'python_version'])),
  'package.json': only('node', inJson('engines', 'node')),
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
  'configure.ac': only('c'),
  'meson.build': only('c'),
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
