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
/** Folders of `tests/integration` that `npm test` checks, and of the other folders the main paths of the kennel. */
const PARTS = ['api', 'gateway', 'page', 'store', 'turns'];
const MAIN_PATHS = [
  'tests/integration/kennel/containers.test.ts',
  'tests/integration/tasks/{api-tasks,coding-task,questions}.test.ts',
  'tests/integration/workspaces/{checkpoint,direct-edits}.test.ts',
];
/** Files of these parts that use one instance together (`tests/support/shared-app.ts`). */
const SHARING = [
  'tests/conformance/stdio.test.ts',
  'tests/integration/gateway/intake/{approval-words,commands,conversation,languages}.test.ts',
  'tests/integration/store/long-thread.test.ts',
  'tests/integration/turns/{families,loops,memory,preferences,taint-turn,workspace-context}.test.ts',
];
/** Short files that bring what they need into their own process: most of their work is the start of that process. */
const IN_PROCESS = [
  'tests/conformance/{config-reload,contract,docs,events,host,http,idempotency,openapi}.test.ts',
  'tests/conformance/{recordings,register,security,sessions,status,tools}.test.ts',
  'tests/conformance/models/!(real-servers).test.ts',
  'tests/integration/api/!(owner-live).test.ts',
  'tests/integration/gateway/intake/blocked-thread.test.ts',
  'tests/integration/store/{audit,copies,memories,receipts,steps,store,thread-summaries,traces}.test.ts',
  'tests/integration/store/usage-report.test.ts',
];
/** Files of minutes. */
const LONG = [
  'tests/integration/gateway/intake/{drain,long-waits,reconcile-many}.test.ts',
  'tests/integration/gateway/channels/whatsapp/{excess,security}.test.ts',
];
/** Builds of images, and stories that need them. One build at a time holds the engine: others would wait in vain. */
const BUILDS = [
  'tests/{stories,together,tour}/*.test.ts',
  'tests/integration/tasks/{environment,setup-script}.test.ts',
];
/** What is lost at a full disk shows only where the machine is not busy with something else. */
const FULL_DISK = 'tests/integration/store/full-disk.test.ts';
/**
 * A long file mostly waits: for containers, timers, and people who write once a second. A short one works: its instance
 * takes five seconds of processor time to start. With four files at once, tests of time failed.
 */
const SERVERS_AT_ONCE = 3;
const MINUTE = 60_000;

/** Projects run one after another, unless they have the same place in this order. */
const ORDER = ['unit', 'servers', 'alone', 'builds', 'chaos', 'compose', 'agents', 'environments', 'hosts'];
const project = (
  name: string,
  test: TestProjectConfiguration extends { test?: infer T } ? T : never,
  beside = name,
): TestProjectConfiguration => ({
  extends: true,
  test: { name, sequence: { groupOrder: ORDER.indexOf(beside) }, ...test },
});

/**
 * `npm test` runs the first five projects, `npm run test-system` the next five, and the rest have commands of their own
 * (package.json).
 */
export default defineConfig({
  test: {
    // worker threads crash with the native core of the Temporal worker
    pool: 'forks',
    // a test that fails once is a defect, in the test or in the product: nothing is tried again
    retry: 0,
    testTimeout: 2 * MINUTE,
    hookTimeout: 3 * MINUTE,
    setupFiles: './tests/support/asserted.ts',
    expect: { poll: { timeout: MINUTE / 2 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      // one process for many files: most of a short file is the start of its process
      project('unit', { include: ['tests/unit/**/*.test.ts'], exclude: UNITS_ALONE, isolate: false, maxWorkers: 2 }),
      project('unit-isolated', { include: UNITS_ALONE, maxWorkers: 2 }, 'unit'),
      project('servers', {
        include: [
          'tests/{conformance,replay}/**/*.test.ts',
          `tests/integration/{${PARTS.join(',')}}/**/*.test.ts`,
          ...MAIN_PATHS,
        ],
        exclude: [...LONG, ...SHARING, ...IN_PROCESS, FULL_DISK],
        maxWorkers: SERVERS_AT_ONCE,
      }),
      // the process of a file stays for the next one
      project('in-process', { include: IN_PROCESS, isolate: false, maxWorkers: SERVERS_AT_ONCE }, 'servers'),
      // and its instance with it
      project('shared', { include: SHARING, isolate: false, maxWorkers: SERVERS_AT_ONCE }, 'servers'),
      // together with `servers` where both run: the last file of the one does not hold up the other
      project(
        'system',
        {
          include: [`tests/integration/!(${PARTS.join('|')})/**/*.test.ts`, ...LONG],
          exclude: [...MAIN_PATHS, ...BUILDS],
          maxWorkers: SERVERS_AT_ONCE,
        },
        'servers',
      ),
      project('alone', { include: [FULL_DISK], maxWorkers: 1 }),
      project('builds', { include: BUILDS, maxWorkers: 3 }),
      // kills come at random: two of these at once, and nothing beside them
      project('chaos', { include: ['tests/chaos/**/*.test.ts'], maxWorkers: 2 }),
      project('compose', {
        include: ['tests/compose/*.test.ts'],
        maxWorkers: 1,
        testTimeout: 10 * MINUTE,
        hookTimeout: 30 * MINUTE,
      }),
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
