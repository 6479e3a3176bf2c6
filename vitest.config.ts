import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import LongestFirst from './tests/support/longest-first.ts';

/**
 * Units that change what all files of a process share (its environment, its timers, its output), or hold it for
 * seconds.
 */
const UNITS_ALONE = [
  'tests/unit/adapters/backup/sealed-stream.test.ts',
  'tests/unit/adapters/skill-folders.test.ts',
  'tests/unit/adapters/speech.test.ts',
  'tests/unit/gateway/channels/whatsapp/fixture-*.test.ts',
  'tests/unit/cli/chat-typing.test.ts',
  'tests/unit/cli/logs.test.ts',
  'tests/unit/kennel/runner-*.test.ts',
  'tests/unit/regular-expressions.test.ts',
];
/** Whole stories, and real package managers: minutes each. */
const LONG = [
  'tests/{stories,together,tour}/*.test.ts',
  'tests/integration/tasks/{environment,hosts,setup-script}.test.ts',
  'tests/integration/workspaces/{environment,github-sync,hostile}.test.ts',
];
/** What is lost at a full disk shows only where the machine is not busy with something else. */
const FULL_DISK = 'tests/integration/store/full-disk.test.ts';
const MINUTE = 60_000;

let order = 0;
/** Projects run one after another, because each has its own number of files at once. */
const project = (
  name: string,
  test: TestProjectConfiguration extends { test?: infer T } ? T : never,
): TestProjectConfiguration => ({
  extends: true,
  test: { name, sequence: { groupOrder: order++ }, ...test },
});

/**
 * `npm test` runs the first four projects, `npm run test-system` the next three, and the rest have commands of their
 * own (package.json).
 */
export default defineConfig({
  test: {
    // worker threads crash with the native core of the Temporal worker
    pool: 'forks',
    // a test that fails once is a defect, in the test or in the product: nothing is tried again
    retry: 0,
    testTimeout: 2 * MINUTE,
    hookTimeout: 3 * MINUTE,
    expect: { poll: { timeout: MINUTE / 2 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      // one process for many files: most of a short file is the start of its process
      project('unit', { include: ['tests/unit/**/*.test.ts'], exclude: UNITS_ALONE, isolate: false, maxWorkers: 2 }),
      project('unit-isolated', { include: UNITS_ALONE, maxWorkers: 2 }),
      // most of a file is waiting: for containers, timers, and people who write once a second. Two leave a third of two
      // cores idle
      project('servers', {
        include: ['tests/{integration,conformance,replay}/**/*.test.ts'],
        exclude: [...LONG, FULL_DISK],
        maxWorkers: 3,
      }),
      project('alone', { include: [FULL_DISK], maxWorkers: 1 }),
      // beside the compose project, as the third file at once
      project('system', { include: LONG, maxWorkers: 2 }),
      project('compose', {
        include: ['tests/compose/*.test.ts'],
        maxWorkers: 1,
        testTimeout: 10 * MINUTE,
        hookTimeout: 30 * MINUTE,
      }),
      // kills come at random: two of these at once, and nothing beside them
      project('chaos', { include: ['tests/chaos/**/*.test.ts'], maxWorkers: 2 }),
      project('agents', { include: ['tests/agents/*.test.ts'], maxWorkers: 1 }),
      project('environments', {
        include: ['tests/environments/*.test.ts'],
        maxWorkers: 1,
        testTimeout: 10 * MINUTE,
        hookTimeout: 10 * MINUTE,
      }),
      project('hosts', {
        include: ['tests/hosts/*.test.ts'],
        maxWorkers: 1,
        testTimeout: 30 * MINUTE,
        hookTimeout: 5 * MINUTE,
      }),
    ],
  },
});
