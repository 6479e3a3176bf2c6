import { cancellationSignal } from '@temporalio/activity';
import type { KennelCommand } from '../../adapters/kennel/kennel.ts';
import { lineOf } from '../../domain/tasks/checks/project-profile.ts';
import { readableOutput, readTests, withNames } from '../../domain/tasks/checks/test-results.ts';
import type { TestRun } from '../../domain/tasks/checks/verdict.ts';
import { hasNoTests } from '../../domain/tasks/report.ts';
import { suffix } from '../../domain/text/storable.ts';
import { MINUTE } from '../../domain/time.ts';
import { lacksPackages } from '../../tools/workspace/shell.ts';
import type { KennelDeps } from '../activity-deps.ts';

/** How much output is read, and how much is kept, in bytes and characters. */
const READ_BYTES = 4_000_000;
const SHOWN_CHARS = 20_000;

/** Where tests run. */
export type TestPlace = Pick<KennelCommand, 'workspace' | 'base' | 'home' | 'gate' | 'env' | 'cwd' | 'label'>;

/** `output`: its end, for people. */
export interface Ran {
  run: TestRun;
  output: string;
}

/** Ends the output of the tests; reports for programs follow. */
const REPORTS = '[reports of the test runner]';
/** Runs the tests, and prints the reports in XML that they have written. */
const SCRIPT = `began=$(mktemp); "$@"; code=$?; printf '\\n%s\\n' '${REPORTS}'
find . \\( -name node_modules -o -name .git \\) -prune -o -type f -newer "$began" \\( -name 'TEST-*.xml' -o -name 'junit*.xml' -o -path '*/.vitest/junit/*.xml' \\) -size -2000k -exec cat {} + 2>/dev/null
exit $code`;

export async function runTests(
  { kennel }: Pick<KennelDeps, 'kennel'>,
  place: TestPlace,
  { argv, timeoutMs }: { argv: readonly string[]; timeoutMs: number },
): Promise<Ran> {
  const began = performance.now();
  const ran = await kennel.command({
    ...place,
    environment: true,
    argv: ['sh', '-c', SCRIPT, 'tests', ...withNames([...argv])],
    timeoutMs,
    maxOutput: READ_BYTES,
    signal: cancellationSignal(),
  });
  const ms = Math.round(performance.now() - began);
  const at = ran.stdout.lastIndexOf(`\n${REPORTS}\n`);
  const printed = at < 0 ? ran.stdout : ran.stdout.slice(0, at);
  const stopped = ran.timedOut ? `\n[stopped after ${Math.round(timeoutMs / MINUTE)} minutes]` : '';
  const said = `${readableOutput(printed)}${ran.stderr ? `\n${ran.stderr}` : ''}`;
  const output = suffix(`${said}${stopped}`.trim(), SHOWN_CHARS);
  const cases = readTests(`${ran.stdout}\n${ran.stderr}`);
  const command = lineOf(argv);
  const lacks = ran.code === 127 || (ran.code !== 0 && cases.length === 0 && lacksPackages(said, ran.code));
  const state = ran.timedOut
    ? 'timed out'
    : lacks
      ? 'no runner'
      : cases.length === 0 && hasNoTests(said)
        ? 'no tests'
        : 'ended';
  const code = state === 'ended' ? ran.code : null;
  return { run: { state, command, code, ms, cases, ...(ran.cut && { cut: true as const }) }, output };
}
