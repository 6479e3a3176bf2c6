import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { foldersOf } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import { onDisk } from '../git/snapshot.ts';
import { named } from './report.ts';

/** Folders that package managers, interpreters, build tools and test runners make. */
const MADE = new Set(
  [
    // Python
    '.venv venv .tox .nox .eggs __pycache__ __pypackages__ .pytest_cache .mypy_cache .ruff_cache .pytype .pyre',
    '.hypothesis .pixi .pdm-build .ipynb_checkpoints .scrapy htmlcov',
    // JavaScript
    'node_modules bower_components jspm_packages web_modules .npm .pnpm-store .next .nuxt .output .nitro .vite .vercel',
    '.svelte-kit .turbo .nx .swc .parcel-cache .rollup.cache .rpt2_cache .astro .angular .docusaurus .expo .wrangler',
    '.netlify .serverless .sass-cache .nyc_output storybook-static playwright-report',
    // JVM and Android
    '.gradle .kotlin .metals .bloop .bsp .cpcache .shadow-cljs .cxx .externalNativeBuild',
    // C, C++, Swift and others
    'CMakeFiles autom4te.cache .deps .libs .ccls-cache vcpkg_installed buck-out zig-cache .zig-cache zig-out .swiftpm',
    'DerivedData xcuserdata .vs dist-newstyle .stack-work _opam nimcache .dub elm-stuff .spago .elixir_ls .dart_tool',
    '.bundle .yardoc .luarocks lua_modules blib .Rproj.user .phpunit.cache .godot',
    // infrastructure and pages
    '.terraform .terragrunt-cache .vagrant .aws-sam cdk.out .jekyll-cache .cache',
  ].flatMap((names) => names.split(' ')),
);
/** The same, where one name alone says too little. */
const MADE_FOLDER =
  /(^|\/)(\.yarn\/(cache|unplugged)|vendor\/bundle|Carthage\/Build|\.vitepress\/(cache|dist)|renv\/library|Flutter\/ephemeral|resources\/_gen)$/;
/** What in a folder says that it is a cache, an environment, or the output of a build. */
const MARKS = ['CACHEDIR.TAG', 'pyvenv.cfg', 'conda-meta', 'CMakeCache.txt', '.ninja_log'];
/** Folders that are output where one of these files is beside them. */
const OUTPUT: Record<string, RegExp> = {
  build:
    /^(package\.json|setup\.(py|cfg)|pyproject\.toml|(build|settings)\.gradle(\.kts)?|CMakeLists\.txt|meson\.build|pubspec\.yaml|gleam\.toml)$/,
  dist: /^(package\.json|tsconfig\.json|deno\.jsonc?|setup\.(py|cfg)|pyproject\.toml|[^/]*\.cabal)$/,
  out: /^(package\.json|tsconfig\.json|(build|settings)\.gradle(\.kts)?|foundry\.toml|[^/]*\.iml)$/,
  coverage: /^(package\.json|pyproject\.toml|setup\.(py|cfg)|Gemfile|composer\.json)$/,
  'test-results': /^package\.json$/,
  target: /^(Cargo\.toml|pom\.xml|[^/]*\.sbt|build\.properties|project\.clj|deps\.edn)$/,
  vendor: /^composer\.json$/,
  bin: /^(.*\.(cs|fs|vb)proj|\.classpath)$/,
  obj: /\.(cs|fs|vb|vcx)proj$/,
  TestResults: /\.((cs|fs|vb)proj|sln)$/,
  _build: /^(mix\.exs|rebar\.config|dune-project|conf\.py)$/,
  deps: /^mix\.exs$/,
  Pods: /^Podfile$/,
  '.build': /^Package\.swift$/,
  lib: /^shard\.yml$/,
  local: /^cpanfile$/,
  output: /^spago\.(dhall|yaml)$/,
  artifacts: /^hardhat\.config\.[cm]?[jt]s$/,
  cache: /^(hardhat\.config\.[cm]?[jt]s|foundry\.toml)$/,
  _site: /^(_config\.ya?ml|\.eleventy\.js|eleventy\.config\.[cm]?js)$/,
  site: /^mkdocs\.ya?ml$/,
  Library: /^ProjectSettings$/,
  Temp: /^ProjectSettings$/,
  Intermediate: /\.uproject$/,
  Saved: /\.uproject$/,
  DerivedDataCache: /\.uproject$/,
};
const MADE_FILE =
  /(^|\/)(\.DS_Store|Thumbs\.db|\.coverage|\.(eslint|stylelint|php-cs-fixer\.|phpunit\.result\.)cache|\.pnp\.(c?js|loader\.mjs)|install-state\.gz|\.flutter-plugins(-dependencies)?|(npm|yarn|pnpm)-(debug|error)\.log|bazel-(bin|out|testlogs)|erl_crash\.dump|hs_err_pid\d+\.log|[^/]+\.(py[cod]|o|obj|a|lo|la|gc(da|no)|class|beam|hi|cm[iotx]|cmti?|egg|tfstate|tfstate\.backup|tsbuildinfo))$/;
/** Files that only keep a folder in git: it may be output all the same. */
const PLACEHOLDER = /(^|\/)(\.(git)?keep|\.gitignore)$/;
/** A program, by its first bytes: ELF, Mach-O, and of Windows. */
const PROGRAM = /^(\x7fELF|\xcf\xfa\xed\xfe|\xce\xfa\xed\xfe|MZ[\s\S]*PE\0\0)/;
/** A new file with bytes that are no text is large above this. */
const BINARY_BYTES = 1024 * 1024;

/**
 * New files that tools made and make again, and large binaries: by path, what they are called in a report. A folder of
 * which the project has files of its own is no such folder. `fresh` and `tracked`: paths as bytes.
 */
export function generatedAmong(
  root: string,
  fresh: Iterable<string>,
  tracked: Iterable<string>,
): ReadonlyMap<string, string> {
  const own = new Set<string>();
  for (const path of tracked) if (!PLACEHOLDER.test(path)) for (const folder of foldersOf(path)) own.add(folder);
  const known = new Map<string, boolean>();
  const isMade = (folder: string): boolean => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const made = !own.has(folder) && isMadeFolder(root, folder);
    known.set(folder, made);
    return made;
  };
  const found = new Map<string, string>();
  for (const path of fresh) {
    const folder = foldersOf(path).find(isMade);
    if (folder !== undefined) found.set(path, `${folder}/`);
    else if (MADE_FILE.test(path) || isLargeOrProgram(root, path)) found.set(path, path);
  }
  return found;
}

/** In a sentence; null when there are none. */
export function generatedNote(generated: ReadonlyMap<string, string>): string | null {
  if (generated.size === 0) return null;
  const counts = new Map<string, number>();
  for (const what of generated.values()) counts.set(what, (counts.get(what) ?? 0) + 1);
  const all = [...counts].map(([what, count]) =>
    what.endsWith('/') ? `${what} (${count} ${count === 1 ? 'file' : 'files'})` : what,
  );
  return `Generated or large, and not committed: ${named(all)}. Lines in .gitignore keep them out of the next look.`;
}

function isMadeFolder(root: string, folder: string): boolean {
  const slash = folder.lastIndexOf('/');
  const name = folder.slice(slash + 1);
  if (MADE.has(name) || name.endsWith('.egg-info') || MADE_FOLDER.test(folder)) return true;
  if (MARKS.some((mark) => existsSync(Buffer.concat([onDisk(root, folder), Buffer.from(`/${mark}`)])))) return true;
  const beside = Object.hasOwn(OUTPUT, name) ? OUTPUT[name] : undefined;
  return (
    beside !== undefined && namesIn(root, slash < 0 ? '' : folder.slice(0, slash)).some((each) => beside.test(each))
  );
}

function namesIn(root: string, folder: string): string[] {
  try {
    return readdirSync(folder === '' ? root : join(root, utf8(folder)));
  } catch {
    return [];
  }
}

function isLargeOrProgram(root: string, path: string): boolean {
  let file: number;
  try {
    file = openSync(onDisk(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return false;
    const bytes = Buffer.alloc(8_000);
    const start = bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0));
    return PROGRAM.test(start) || (stats.size > BINARY_BYTES && start.includes('\0'));
  } finally {
    closeSync(file);
  }
}
