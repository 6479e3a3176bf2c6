import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundleWorkflowCode, type WorkflowBundlePath } from '@temporalio/worker';
import { FAILURE_CONVERTER } from '../../../adapters/payloads/codec.ts';
import { CODE_EXTENSION, PACKAGE_ROOT } from '../../../installation.ts';

const source = (folder: string): string => fileURLToPath(new URL(`../../../${folder}`, import.meta.url));
const SANDBOX_FOLDERS = ['workflows', 'contracts', 'domain'];

/**
 * Workers that run one build at a time; workers of several builds side by side, with a versioning behaviour for each
 * workflow.
 */
const ENTRIES = { unversioned: 'index', versioned: 'versioned' };
export type Versioning = keyof typeof ENTRIES;
export const entryOf = (versioning: Versioning): string =>
  join(source('workflows'), `${ENTRIES[versioning]}${CODE_EXTENSION}`);

/** The options with which workflow code is bundled everywhere: in production, in tests and in the replay gate. */
export async function buildWorkflowBundle(
  workflowsPath = entryOf('unversioned'),
  workflowInterceptorModules: string[] = [],
): Promise<{ code: string }> {
  const warnings: string[] = [];
  const note = (message: string) => void (/disallowed|Failed to|not found/i.test(message) && warnings.push(message));
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    failureConverterPath: FAILURE_CONVERTER,
    workflowInterceptorModules,
    // a thread keeps the map; the sources in it are its larger part, and are there for debuggers only
    webpackConfigHook: (config) => ({ ...config, devtool: 'inline-nosources-cheap-module-source-map' }),
    logger: { trace() {}, debug() {}, info() {}, log: (_level, message) => note(message), warn: note, error: note },
  });
  if (warnings.length > 0) throw new Error(`The workflow bundle reaches outside the sandbox:\n${warnings.join('\n')}`);
  return { code: inOneByte(code) };
}

/** V8 keeps a text of which one character needs two bytes in two bytes each. */
const inOneByte = (code: string): string =>
  code.replaceAll(/[^\0-\xff]/g, (wide) => `\\u${wide.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Every file that may go into the bundle, at whatever depth, relative to the source. */
export const bundledFiles = (): string[] =>
  SANDBOX_FOLDERS.flatMap((folder) =>
    readdirSync(source(folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith(CODE_EXTENSION))
      .map((file) => join(folder, file))
      .sort(),
  );

/** What `npm pack` bundles (`scripts/build.ts`): the workflows of an installed package never change. */
const packedBundle = (versioning: Versioning): string => join(PACKAGE_ROOT, 'dist', 'workflows', `${versioning}.js`);

/** Where `scripts/bundle.ts` has made the bundles of a clone, by `npm ci`: a new home need not make its own. */
const CLONE_CACHE = join(PACKAGE_ROOT, 'dist', 'bundles');

/** The bundle, from a cache when no file that goes into it has changed: it saves two seconds of CPU of every start. */
export async function cachedWorkflowBundle(
  cacheFolder: string,
  versioning: Versioning = 'unversioned',
): Promise<WorkflowBundlePath> {
  // a clone may have what it was packed with, too, and runs other sources by now
  if (CODE_EXTENSION === '.js' && existsSync(packedBundle(versioning))) return { codePath: packedBundle(versioning) };
  const hash = createHash('sha256').update(versioning);
  for (const file of bundledFiles()) hash.update(file).update(readFileSync(join(source('.'), file)));
  hash.update(readFileSync(join(PACKAGE_ROOT, 'package.json')));
  const name = `workflows-${hash.digest('hex').slice(0, 16)}.js`;
  const ofClone = join(CLONE_CACHE, name);
  if (existsSync(ofClone)) return { codePath: ofClone };
  const codePath = join(cacheFolder, name);
  if (!existsSync(codePath)) {
    // in a process of its own: the bundler would leave 140 MB in the memory of a worker that lives for weeks
    await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url), codePath, versioning]);
  }
  return { codePath };
}

if (import.meta.main) {
  const codePath = process.argv[2]!;
  const { code } = await buildWorkflowBundle(entryOf(process.argv[3] as Versioning));
  mkdirSync(dirname(codePath), { recursive: true });
  // renamed into place: a start that is killed half way leaves no half bundle
  writeFileSync(`${codePath}.${process.pid}`, code);
  renameSync(`${codePath}.${process.pid}`, codePath);
}
