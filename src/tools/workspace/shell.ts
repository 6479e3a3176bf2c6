import { z } from 'zod';
import { KeptOutput } from '../../adapters/kennel/kept-output.ts';
import { mountSkills } from '../../adapters/kennel/skill-folders.ts';
import { budgetOf, DONE_AS, lineOf, splitWords } from '../../domain/tasks/checks/project-profile.ts';
import { streamOutput } from '../../store/kennel/workspaces/call-output.ts';
import { agreedSkillsOfTurn } from '../../store/turns/turn-extensions.ts';
import { defineTool, endedByRestart, restarted, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { commandOutcome, printed, took } from './command-text.ts';
import { settleInterrupted, undoable } from './direct-edit.ts';
import {
  commandFor,
  inWorkspace,
  type Opened,
  pathArgument,
  provide,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from './in-workspace.ts';
import type { Extent } from './own-content.ts';

/** Commands in a container of the workspace: no network, no keys, and only the workspace mounted. */

/** How much of a command's stdout and stderr is kept, in bytes. */
const KEPT_BYTES = 2_000_000;
/** How much output is reported of a command that could not end, in bytes. */
const SHOWN_BYTES = 20_000;
const MAX_MS = 1_800_000;
/** How long tests may run of which nothing is known. */
const TESTS_MS = 300_000;

export const limit = (standard: number) => z.int().min(1000).max(MAX_MS).default(standard);
/** A command can read and change the whole workspace. */
export const COMMAND: Extent = { changes: 'all', runs: true };
export const commandLine = text(4000).refine((line) => line.trim() !== '', 'must not be empty');
export const common = { runsIn: 'kennel', timeoutMs: MAX_MS + WITH_IMAGE_MS } as const;

const NOT_FOUND =
  'A program was not found: what is there follows from the files of the repository (docs/coding-tasks.md), and there is no network to install more.';
const INSTALL_FIRST = 'Its packages are not installed, and there is no network here: let a task install them first.';

export const shown = (line: string, where: string): string =>
  `$ ${printed(line).trim().replaceAll('\n', '\n> ')}\n(in ${where})`;
export const folderName = (workspace: string | undefined, cwd = '.'): string =>
  [workspace ?? 'the active workspace', ...(cwd === '.' ? [] : [cwd])].join('/');

/**
 * Test runners, as the first words of their command lines. Anything may follow, except what a shell would interpret.
 */
const RUNNERS: ReadonlyArray<readonly string[]> = [
  ...['npm', 'pnpm', 'yarn', 'bun'].flatMap((manager) => [
    [manager, 'test'],
    [manager, 't'],
    [manager, 'run', 'test'],
  ]),
  ...['vitest', 'jest', 'mocha', 'ava', 'tap'].flatMap((runner) => [['npx', runner], [runner]]),
  ['node', '--test'],
  ['deno', 'test'],
  ['go', 'test'],
  ['cargo', 'test'],
  ['cargo', 'nextest', 'run'],
  ['pytest'],
  ['python', '-m', 'pytest'],
  ['python3', '-m', 'pytest'],
  ['python', '-m', 'unittest'],
  ['python3', '-m', 'unittest'],
  ['uv', 'run', 'pytest'],
  ['tox'],
  ['make', 'test'],
  ['make', 'check'],
  ['mvn', 'test'],
  ['gradle', 'test'],
  ['./gradlew', 'test'],
  ['dotnet', 'test'],
  ['mix', 'test'],
  ['rspec'],
  ['bundle', 'exec', 'rspec'],
  ['phpunit'],
  ['swift', 'test'],
];

/** Whether a command line starts a test runner. It is run without a shell, where quotes only hold words together. */
export function isTestCommand(line: string): boolean {
  const words = splitWords(line);
  // npm run test:unit, yarn run test-all
  const script = words.findIndex((word, at) => at > 0 && words[at - 1] === 'run' && /^test[:.-][\w:.-]+$/.test(word));
  const plain = script === 2 ? [...words.slice(0, 2), 'test'] : words;
  return RUNNERS.some((runner) => runner.every((word, at) => plain[at] === word));
}

/** How programs say that a package is missing, or that they cannot load it without a network. */
const UNINSTALLED = [
  /Could not resolve host|Temporary failure in name resolution|EAI_AGAIN|ENOTFOUND|[Uu]nknown ?[Hh]ost|dns error/,
  /no such host|dial tcp: lookup|no required module provides package|module lookup disabled/,
  // a path that begins with a dot is a file of the project itself
  /Cannot find (?:module|package) ['"](?![./])|node_modules (?:missing|state file)|seem to have been installed/,
  /No module named|No matching distribution found|Could not find a version that satisfies/,
  /Could not find gem| in (?:any of the sources|locally installed gems)|vendor\/(?:autoload|bin\/)/,
  /failed to (?:download|get) `|no matching package named/,
  /Could not (?:transfer artifact|resolve (?:dependencies|all))|No cached version of/,
];
/** A script of a project names programs of its packages. */
const NO_PROGRAM = /sh: (?:line )?\d{1,6}: \S{1,80}: (?:command )?not found|[Cc]ommand not found/;

/**
 * Whether a command failed because the packages of its project are not there. `testsEndedWith`: its exit code, when it
 * ran tests.
 */
export const lacksPackages = (output: string, testsEndedWith: number | null = null): boolean =>
  UNINSTALLED.some((pattern) => pattern.test(output)) ||
  (testsEndedWith !== null && (testsEndedWith === 127 || NO_PROGRAM.test(output)));

export const shellTools: Tool[] = [
  defineTool({
    ...common,
    needsShell: true,
    name: 'shell_run',
    family: 'core',
    reads: ['command'],
    readFrom: (args) => args.command.slice(0, 60),
    // its container has no network, but what it deletes may be gone
    sends: ['command'],
    description: `Run a bash command in the workspace, in a container without network, and wait for its end.`,
    danger: 'DANGEROUS',
    // what a command did must not be done twice
    effect: 'once',
    schema: z.strictObject({
      command: commandLine,
      cwd: pathArgument(false).default('.'),
      timeoutMs: limit(120_000),
      workspace: workspaceArgument,
    }),
    item: 'command_execution',
    asks: (_, at, say) => say('ask.command', { at }),
    preview: async (args) => shown(args.command, folderName(args.workspace, args.cwd)),
    run: (args, context) =>
      inWorkspace(
        context,
        args.workspace,
        (at) =>
          undoable(at, context, (label) =>
            execute(at, context, {
              argv: ['bash', '-lc', args.command],
              cwd: args.cwd,
              timeoutMs: args.timeoutMs,
              label,
              title: 'The command',
              command: args.command,
            }),
          ),
        COMMAND,
      ),
    interrupted: (args, context) => settleInterrupted(context, args.workspace),
  }),
  defineTool({
    ...common,
    needsShell: true,
    name: 'app_test',
    family: 'apps',
    reads: ['command'],
    sends: [],
    description: 'Run the tests, lint or build of the workspace, in a container without network.',
    // it runs the project's own code, inside the container; any other command needs shell_run and its approval
    danger: 'MODERATE',
    effect: 'idempotent',
    schema: z.strictObject({
      command: text(400)
        .trim()
        .refine(
          (line) => isPart(line) || isTestCommand(line),
          'must be the command of a test runner, such as npm test, npx vitest run x.test.ts, pytest tests or go test ./..., or lint, types or build; use shell_run for everything else',
        )
        .optional()
        .describe('Of a test runner, without shell syntax; or lint, types, build'),
      timeoutMs: limit(TESTS_MS),
      workspace: workspaceArgument,
    }),
    preview: async ({ command = 'test', workspace }) =>
      shown(isPart(command) ? `the ${command} command of the project` : command, folderName(workspace)),
    item: 'command_execution',
    asks: ({ command }, at, say) =>
      say(command && isPart(command) && command !== 'test' ? 'ask.command' : command ? 'ask.theseTests' : 'ask.tests', {
        at,
      }),
    run: (args, context) =>
      inWorkspace(
        context,
        args.workspace,
        async (at) => {
          const { command = 'test' } = args;
          const part = isPart(command) ? command : 'test';
          const own = await commandFor(part, at, context);
          // a project without a linter has its types
          const usual = part === 'lint' && !own.argv ? await commandFor('types', at, context) : own;
          const argv = isPart(command) ? usual.argv : splitWords(command);
          if (!argv || argv.length === 0)
            return {
              ok: false,
              output:
                part === 'test'
                  ? `How ${at.name} is tested is not known: its files name no tests (docs/coding-tasks.md). Give the command.`
                  : `How ${at.name} is ${DONE_AS[part]} is not known: its files do not say it. The owner can: "${at.name} is ${DONE_AS[part]} by …".`,
            };
          const line = lineOf(argv);
          return await execute(at, context, {
            argv,
            cwd: '.',
            // the usual limit gives way to what is known of these tests
            timeoutMs: args.timeoutMs === TESTS_MS ? Math.min(MAX_MS, budgetOf(usual.ms, TESTS_MS)) : args.timeoutMs,
            label: 'test',
            title: line,
            command: line,
          });
        },
        COMMAND,
      ),
  }),
];

/** A part of a project that is run by its usual command. */
const isPart = (word: string): word is 'test' | 'lint' | 'types' | 'build' =>
  ['test', 'lint', 'types', 'build'].includes(word);

interface Running {
  argv: string[];
  cwd: string;
  timeoutMs: number;
  label: string;
  /** its name in the sentence about its end */
  title: string;
  command: string;
}

/** Runs a command to its end. Screens see the output as it comes. */
export async function execute(
  { kennel, name, path }: Opened,
  context: ToolContext,
  { argv, cwd, timeoutMs, label, title, command: line }: Running,
): Promise<ToolOutcome> {
  const lacks = await provide(context, kennel, path);
  const stream = streamOutput(context.db, context);
  const began = performance.now();
  const kept = new KeptOutput(SHOWN_BYTES);
  try {
    const result = await kennel.command({
      workspace: path,
      environment: true,
      skills: await mountSkills(context.config.FETCH_HOME, await agreedSkillsOfTurn(context.db, context.turnId)),
      argv,
      cwd,
      env: { CI: 'true', TERM: 'dumb' },
      timeoutMs,
      maxOutput: KEPT_BYTES,
      label,
      onOutput: (_, piece) => {
        kept.push(Buffer.from(piece));
        stream.push(printed(piece));
      },
      signal: context.signal,
    });
    const { ok, output, metadata } = commandOutcome(title, result, performance.now() - began, timeoutMs);
    const why = ok
      ? []
      : [
          ...(result.code === 127 ? [NOT_FOUND] : []),
          ...(lacksPackages(output, label === 'test' ? result.code : null) ? [INSTALL_FIRST] : []),
          ...lacks,
        ];
    return {
      ok,
      output: [output, ...why].join('\n\n'),
      metadata: { ...metadata, command: line, cwd, workspace: name, limit: took(timeoutMs) },
    };
  } catch (error) {
    if (!endedByRestart(context.signal)) throw error;
    return {
      ok: false,
      output: `${restarted(title)}\n\n${kept.text()}`.trim(),
      metadata: { command: line, cwd, workspace: name, limit: took(timeoutMs) },
    };
  } finally {
    await stream.close();
  }
}
