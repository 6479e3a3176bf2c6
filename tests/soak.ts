import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * `npm run soak`: every property test in its long form, thousands of runs each, and a table of what was run. Takes
 * hours; names of files choose some: `npm run soak -- whatsapp`. `FETCH_TEST_RUNS` and `FETCH_TEST_SEED` are heeded as
 * in `npm test`.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const chosen = process.argv.slice(2);
const files = globSync('tests/**/*.test.ts', { cwd: root })
  .filter((file) => readFileSync(join(root, file), 'utf8').includes('support/property.ts'))
  .filter((file) => chosen.length === 0 || chosen.some((part) => file.includes(part)))
  .sort();
if (files.length === 0) {
  console.error('No file with property tests has such a name.');
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'fetch-soak-'));
const log = join(folder, 'figures.ndjson');
const args = ['run', ...files, '--testTimeout', String(24 * 3_600_000)];
const code = await new Promise<number>((resolve, reject) => {
  const child = spawn(join(root, 'node_modules', '.bin', 'vitest'), args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, FETCH_TEST_SOAK: log },
  });
  child.once('error', reject);
  child.once('exit', (ended) => resolve(ended ?? 1));
});
const figures = existsSync(log)
  ? readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as { file: string; test: string; runs: number; seed: number; ms: number; ok: boolean },
      )
  : [];
rmSync(folder, { recursive: true, force: true });
console.log('\n| test | runs | seconds | seed | |\n|---|---|---|---|---|');
for (const { test, runs, ms, seed, ok } of figures)
  console.log(
    `| ${test.replaceAll('|', '\\|')} | ${runs} | ${Math.round(ms / 1000)} | ${seed} | ${ok ? 'held' : 'failed'} |`,
  );
process.exit(code);
