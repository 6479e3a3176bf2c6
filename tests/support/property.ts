import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect } from 'vitest';

/** Whether this is the long form: `npm run soak`. */
const soaking = process.env.FETCH_TEST_SOAK !== undefined;

/** Time for a test whose property takes seconds a run. The long form has no bound of its own. */
export const PROPERTY_MS = soaking ? 24 * 3_600_000 : 900_000;

export interface Trying<T> {
  /** runs in the gate; fast-check's 100 where nothing is said */
  runs?: number;
  /** runs in the long form, where twenty times as many would take hours */
  soak?: number;
  /** counterexamples that were found once: they are tried first, every time */
  examples?: T[];
}

/**
 * A new one each day: a gate that has passed passes again on the same day, and other inputs are tried on the next. The
 * long form takes any.
 */
function seedOf(test: string): number {
  if (soaking) return Math.floor(Math.random() * 2 ** 32) - 2 ** 31;
  const day = new Date().toISOString().slice(0, 10);
  return createHash('sha256').update(`${day} ${test}`).digest().readInt32LE();
}

/**
 * Asserts a property over random inputs. The seed is printed, so that a failure can be run again on another day:
 * `FETCH_TEST_SEED=<seed>`.
 * `FETCH_TEST_RUNS` sets the number of runs. A counterexample that was found is kept in `examples`, or as a test of its
 * own.
 */
export function holds<T>(property: fc.IProperty<T>, trying?: Trying<T>): void;
export function holds<T>(property: fc.IAsyncProperty<T>, trying?: Trying<T>): Promise<void>;
export function holds<T>(
  property: fc.IRawProperty<T>,
  { runs = 100, soak = Math.max(2_000, runs * 20), examples = [] }: Trying<T> = {},
): void | Promise<void> {
  const { currentTestName = '', testPath = '' } = expect.getState();
  const seed = Number(process.env.FETCH_TEST_SEED ?? seedOf(currentTestName));
  const numRuns = Number(process.env.FETCH_TEST_RUNS ?? (soaking ? soak : runs)) + examples.length;
  const file = relative(fileURLToPath(new URL('../..', import.meta.url)), testPath);
  const started = Date.now();
  const told = (ok: boolean) => {
    console.log(`${file}: ${numRuns} runs, seed ${seed}${ok ? '' : ', failed'}`);
    const figures = { file, test: currentTestName, runs: numRuns, seed, ms: Date.now() - started, ok };
    if (soaking) appendFileSync(process.env.FETCH_TEST_SOAK!, `${JSON.stringify(figures)}\n`);
  };
  let done: void | Promise<void>;
  try {
    done = fc.assert(property as fc.IProperty<T>, { seed, numRuns, examples }) as void | Promise<void>;
  } catch (error) {
    told(false);
    throw error;
  }
  if (!(done instanceof Promise)) return told(true);
  return done.then(
    () => told(true),
    (error) => {
      told(false);
      throw error;
    },
  );
}
