import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';

/**
 * The seconds of each test file on servers, and of the longest units, are kept in `durations.json`, for the order in
 * which files begin. `npm test -- --keep-durations` writes them again. Only their order matters: they need not be of
 * this machine.
 */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const DURATIONS = fileURLToPath(new URL('durations.json', import.meta.url));
/** A file that nobody has measured yet: should it take minutes, it must not begin last. */
const UNKNOWN = 60;
const isUnit = (file: string): boolean => file.includes('tests/unit/');
/** Of the error of a failure, with the place it came from. */
const ERROR_LINES = 12;
/** Shorter units are not kept: their order changes nothing. */
const LONG_UNIT = 8;
/** What to expect of a file, by its path from the root on. */
export const expected = (kept: Results['seconds'], file: string): number => kept[file] ?? (isUnit(file) ? 0 : UNKNOWN);

/**
 * Of one run of Vitest. `seconds`: what each file took, with its imports and hooks, by its path from the root on.
 * `worked`: seconds of processor time in them, see `asserted.ts`.
 */
export interface Results {
  passed: number;
  failed: number;
  skipped: number;
  seconds: Record<string, number>;
  worked: Record<string, number>;
  /** tests that have passed and asserted something (`proofs.ts`) */
  asserted: string[];
  /** each failure with its first error: the log of a gate may be kept only from its last lines on */
  failures: string[];
}

/** Writes the results into the file that `--outputFile` names. */
export default class WriteResults implements Reporter {
  private file = '';

  onInit({ config }: Vitest): void {
    this.file = config.outputFile as string;
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: 'passed' | 'interrupted' | 'failed',
  ): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    const [passed, failed] = [count('passed'), count('failed')];
    // a file that could not even be loaded counts as a failure though no test of it ran
    const isWhole = reason !== 'interrupted' && modules.length > 0 && modules.every((module) => module.ok());
    const seconds = modules.map((module) => {
      const { collectDuration, duration } = module.diagnostic();
      return [relative(ROOT, module.moduleId), Math.round((collectDuration + duration) / 1000)];
    });
    const worked = modules.map((module) => [relative(ROOT, module.moduleId), Math.round(module.meta().worked ?? 0)]);
    const asserted = tests.filter((test) => test.result().state === 'passed' && (test.meta().assertions ?? 0) > 0);
    const first = (of: readonly SerializedError[]): string =>
      (of[0]?.stack ?? of[0]?.message ?? '')
        .split('\n')
        .filter((line) => !/^ +at .*(?:node_modules|node:)/.test(line))
        .slice(0, ERROR_LINES)
        .join('\n');
    const failures = [
      ...tests.flatMap((test) => {
        const { state, errors: own } = test.result();
        return state === 'failed' ? [`${relative(ROOT, test.module.moduleId)} > ${test.fullName}\n${first(own)}`] : [];
      }),
      ...modules.flatMap((module) =>
        [...module.children.allSuites(), module]
          .filter((each) => each.errors().length > 0)
          .map((each) => `${relative(ROOT, module.moduleId)}\n${first(each.errors())}`),
      ),
      ...(errors.length > 0 ? [`outside of every test\n${first(errors)}`] : []),
    ];
    const results: Results = {
      failures,
      passed,
      failed: Math.max(failed, isWhole ? 0 : 1),
      skipped: tests.length - passed - failed,
      seconds: Object.fromEntries(seconds),
      worked: Object.fromEntries(worked),
      asserted: asserted.map((test) => `${relative(ROOT, test.module.moduleId)} > ${test.fullName}`),
    };
    writeFileSync(this.file, JSON.stringify(results));
  }
}

export function keepDurations(seconds: Results['seconds']): void {
  const kept = { ...(JSON.parse(readFileSync(DURATIONS, 'utf8')) as Results['seconds']), ...seconds };
  const there = Object.entries(kept).filter(
    ([file, each]) => (!isUnit(file) || each > LONG_UNIT) && existsSync(join(ROOT, file)),
  );
  writeFileSync(
    DURATIONS,
    `${JSON.stringify(Object.fromEntries(there.sort(([a], [b]) => a.localeCompare(b))), null, 2)}\n`,
  );
}
