import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { oldPictures } from './pictures/pictures.ts';
import { keepDurations, type Results } from './support/durations.ts';
import { unproven } from './support/proofs.ts';

/**
 * `npm test`: types, lint with the import boundaries, units, and the main parts on real servers. `npm run test-system`
 * (`--system`): the other parts, whole stories, chaos, real package managers, and a server by Docker Compose. `--all`:
 * both, as CI runs them. Each fetches the servers that are not there, and ends with the slowest files and a plain
 * count. Paths and options of Vitest choose some tests. `--keep-durations` keeps what each file took.
 */
const OWN = ['--system', '--all', '--keep-durations'];
const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name: string): string => join(root, 'node_modules', '.bin', name);
const has = (option: string): boolean => process.argv.includes(option);
const only = process.argv.slice(2).filter((each) => !OWN.includes(each));
const parts = { main: !has('--system'), system: has('--system') || has('--all') };
// full disks, foreign homes and other users can only be made by root; CI is root, and skips nothing
const isRoot = process.getuid?.() === 0;

/** `mark`: in front of each line of what runs beside something else. */
function run(file: string, args: string[], mark?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: root, stdio: mark ? ['ignore', 'pipe', 'pipe'] : 'inherit' });
    for (const stream of [child.stdout, child.stderr])
      if (stream) createInterface({ input: stream }).on('line', (line) => console.log(`${mark} ${line}`));
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** Its time, and how much of what the processors of this machine could have done in it they did. */
function clock(): () => string {
  const look = (): number[] =>
    cpus()
      .map(({ times }) => times)
      .reduce(([all, idle], each) => [all! + Object.values(each).reduce((a, b) => a + b), idle! + each.idle], [0, 0]);
  const began = Date.now();
  const [all, idle] = look();
  return () => {
    const [allNow, idleNow] = look();
    const busy = 1 - (idleNow! - idle!) / Math.max(1, allNow! - all!);
    return `${Math.round((Date.now() - began) / 1000)} s, processors ${Math.round(busy * 100)} % busy`;
  };
}
const sinceStart = clock();
const phases: string[] = [];

let checks = 0;
let failedChecks = 0;
const failures: string[] = [];
const counted = (title: string, code: number): void => {
  checks += 1;
  if (code === 0) return;
  failedChecks += 1;
  failures.push(title);
};
async function check(title: string, file: string, args: string[]): Promise<void> {
  console.log(`\n== ${title}`);
  counted(title, await run(file, args));
}

const results: Results[] = [];
async function tests(title: string, args: string[], mark?: string): Promise<void> {
  console.log(`\n== ${title}`);
  const time = clock();
  const file = join(mkdtempSync(join(tmpdir(), 'fetch-tests-')), 'results.json');
  const reporters = ['--reporter=default', '--reporter=./tests/support/durations.ts', `--outputFile=${file}`];
  await run(bin('vitest'), ['run', ...args, ...reporters], mark);
  results.push(
    existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as Results)
      : {
          passed: 0,
          failed: 1,
          skipped: 0,
          seconds: {},
          worked: {},
          asserted: [],
          failures: [`${title} wrote nothing`],
        },
  );
  failures.push(...results.at(-1)!.failures);
  rmSync(dirname(file), { recursive: true, force: true });
  phases.push(`${title}: ${time()}`);
}
const projects = (...names: string[]): string[] => names.flatMap((name) => ['--project', name]);

async function checkCode(): Promise<void> {
  console.log('\n== Format, lint and import boundaries, beside the types');
  const lint = run(bin('biome'), ['ci', '.', '--error-on-warnings'], '[lint]').then((code) => counted('Lint', code));
  // with four checkers, as by default, it takes twice the work and the memory
  await check('Types', bin('tsc'), ['--noEmit', '--checkers', '1']);
  await check('Types of the page', bin('tsc'), ['--noEmit', '-p', 'src/page']);
  await check('Types of its tests', bin('tsc'), ['--noEmit', '-p', 'src/page/tsconfig.test.json']);
  await check('Types of its service worker', bin('tsc'), ['--noEmit', '-p', 'src/page/tsconfig.worker.json']);
  await lint;
}

async function provideServers(): Promise<void> {
  const script = (name: string): [string, string[]] => [process.execPath, [join(root, 'scripts', name)]];
  // a clone without one runs its sources, and would not tell
  await check('Bundle of the code', ...script('bundle.ts'));
  await check(
    'Temporal server (fetched once where there is none; building it takes some minutes)',
    ...script('provide-temporal.ts'),
  );
  await check('Chromium (installed once where there is none)', ...script('provide-chromium.ts'));
}

async function testServers(): Promise<void> {
  await waitForImages();
  // most of a server by Compose is waiting for its services
  const compose = parts.system && isRoot ? testCompose() : undefined;
  await tests(
    'Parts on real Temporal, PostgreSQL and Docker',
    projects(...(parts.main ? ['servers', 'in-process', 'shared'] : []), ...(parts.system ? ['system'] : [])),
  );
  await compose;
}

// it needs Go for what a registry of images would give, and publishes ports: on a laptop it is `npm run test-compose`
async function testCompose(): Promise<void> {
  await check('Programs of a server by Docker Compose (built once)', process.execPath, [
    join(root, 'tests/compose/programs.ts'),
  ]);
  await tests('A server by Docker Compose', projects('compose'), '[compose]');
}

/** What tests are named for was shown: a test that is skipped, or asserts nothing, shows nothing. */
function checkProofs(): void {
  const missing = unproven(results.flatMap(({ asserted }) => asserted));
  console.log(
    `\n== Proofs of the contract, the numbered defects and the walls\n${missing.join('\n') || 'All are there'}`,
  );
  counted('Proofs', missing.length);
}

// most of it is waiting for packages, and neither checks nor units need it
let images: Promise<unknown> | undefined;
async function waitForImages(): Promise<void> {
  const beside = (name: string, mark: string) =>
    run(process.execPath, [join(root, 'scripts', name)], mark).then((code) => counted(name, code));
  images ??= Promise.all([beside('kennel-images.ts', '[kennel]'), beside('provide-model-servers.ts', '[models]')]);
  await images;
}

if (only.length > 0) {
  await provideServers();
  await check('Servers of models (installed once where there are none)', process.execPath, [
    join(root, 'scripts/provide-model-servers.ts'),
  ]);
  // a path may be one of the long forms, which have commands of their own
  const isPath = only.some((each) => existsSync(join(root, each)));
  const wanted = has('--system')
    ? ['system', 'builds', 'alone', 'compose', 'chaos']
    : ['unit', 'unit-isolated', 'servers', 'in-process', 'shared', 'system', 'builds', 'alone', 'chaos'];
  await tests('Chosen tests', [...only, ...(isPath ? [] : projects(...wanted))]);
} else {
  const building = waitForImages();
  if (parts.main) await checkCode();
  await provideServers();
  if (parts.main) await tests('Units', projects('unit', 'unit-isolated'));
  await testServers();
  if (parts.system)
    await tests('A full disk, whole stories, builds of images, and chaos', projects('alone', 'builds', 'chaos'));
  await building;
  if (has('--all')) checkProofs();
}

const seconds = Object.assign({}, ...results.map((each) => each.seconds)) as Results['seconds'];
const worked = Object.assign({}, ...results.map((each) => each.worked)) as Results['worked'];
if (has('--keep-durations')) keepDurations(seconds);
const slowest = Object.entries(seconds)
  .sort(([, a], [, b]) => b - a)
  .slice(0, 10);
const five = (figure: number): string => String(figure).padStart(5);
console.log(
  `\n== The slowest files: seconds, and those that their processes worked (containers are not counted)\n${slowest
    .map(([file, each]) => `${five(each)} ${five(worked[file]!)}  ${file}`)
    .join('\n')}`,
);
console.log(`\n== Parts\n${[...phases, `In all: ${sinceStart()}`].join('\n')}`);

const old = oldPictures();
if (old.length > 0)
  console.log(`\n== Pictures that are older than what they show (npm run pictures)\n${old.join('\n')}`);

if (failures.length > 0) console.log(`\n== What failed\n${failures.join('\n')}`);

const sum = (of: 'passed' | 'failed' | 'skipped'): number => results.reduce((all, each) => all + each[of], 0);
const failed = sum('failed') + failedChecks;
const skipped = sum('skipped');
console.log(
  `\n${sum('passed') + checks - failedChecks} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
);
process.exit(failed > 0 || (skipped > 0 && isRoot) || sum('passed') === 0 ? 1 : 0);
