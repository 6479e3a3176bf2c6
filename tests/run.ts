import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/**
 * `npm test`: types, lint with the import boundaries, then every test on real servers. Says what it does, fetches the
 * Temporal server where there is none, and ends with a plain count. `--keep-durations` keeps what each file took.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name: string): string => join(root, 'node_modules', '.bin', name);

const run = (title: string, file: string, args: string[]): Promise<number> => {
  console.log(`\n== ${title}`);
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: root, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
};

/** The same beside something else: its lines come with a mark in front. */
const runBeside = (mark: string, file: string, args: string[]): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', (line) => console.log(`${mark} ${line}`));
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });

// full disks, foreign homes and other users can only be made by root; CI is root, and skips nothing
const isRoot = process.getuid?.() === 0;
const KEEP = '--keep-durations';
const only = process.argv.slice(2).filter((each) => each !== KEEP);
let checks = 0;
let failedChecks = 0;
const check = async (title: string, file: string, args: string[]): Promise<void> => {
  checks += 1;
  if ((await run(title, file, args)) !== 0) failedChecks += 1;
};

// most of it is waiting for packages, and the checks below need none of it
const images = only.length === 0 ? runBeside('[kennel]', process.execPath, [join(root, 'scripts', 'kennel-images.ts')]) : null;
if (only.length === 0) {
  await check('Types', bin('tsc'), ['--noEmit']);
  await check('Types of the page', bin('tsc'), ['--noEmit', '-p', 'src/page']);
  await check('Types of its tests', bin('tsc'), ['--noEmit', '-p', 'src/page/tsconfig.test.json']);
  await check('Types of its service worker', bin('tsc'), ['--noEmit', '-p', 'src/page/tsconfig.worker.json']);
  await check('Format, lint and import boundaries', bin('biome'), ['ci', '.', '--error-on-warnings']);
}
// a clone without one runs its sources, and would not tell
await check('Bundle of the code', process.execPath, [join(root, 'scripts', 'bundle.ts')]);
await check('Temporal server (fetched once where there is none; building it takes some minutes)', process.execPath, [
  join(root, 'scripts', 'provide-temporal.ts'),
]);
await check('Chromium (installed once where there is none)', process.execPath, [join(root, 'scripts', 'provide-chromium.ts')]);
if (images) {
  console.log('\n== Docker engine and kennel images (built once; its progress is above, too)');
  checks += 1;
  if ((await images) !== 0) failedChecks += 1;
}
interface Count {
  passed: number;
  failed: number;
  skipped: number;
}
const tests = async (title: string, args: string[]): Promise<Count> => {
  const file = join(mkdtempSync(join(tmpdir(), 'fetch-tests-')), 'results.json');
  await run(title, bin('vitest'), ['run', ...args, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`]);
  const report = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { numPassedTests: number; numFailedTests: number; numPendingTests: number; success: boolean })
    : null;
  rmSync(dirname(file), { recursive: true, force: true });
  // a file that could not even be loaded counts as a failure though no test of it ran
  if (!report) return { passed: 0, failed: 1, skipped: 0 };
  return { passed: report.numPassedTests, failed: Math.max(report.numFailedTests, report.success ? 0 : 1), skipped: report.numPendingTests };
};

const keep = process.argv.includes(KEEP) ? ['--reporter=./tests/support/durations.ts'] : [];
const counts = [await tests('Tests on real Temporal, PostgreSQL and Docker', [...only, ...keep])];
// it needs Go for what a registry of images would give, and publishes ports: on a laptop it is `npm run test-compose`
if (only.length === 0 && isRoot) counts.push(await tests('A server by Docker Compose', ['--config', 'vitest.compose.config.ts']));

const sum = (of: keyof Count): number => counts.reduce((all, each) => all + each[of], 0);
const tested = sum('passed');
const failed = sum('failed') + failedChecks;
const skipped = sum('skipped');
console.log(`\n${tested + checks - failedChecks} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(failed > 0 || (skipped > 0 && isRoot) || tested === 0 ? 1 : 0);
