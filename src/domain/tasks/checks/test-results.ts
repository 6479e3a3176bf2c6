import { visible } from '../../text/foreign-text.ts';
import { prefix } from '../../text/storable.ts';
import {
  cargoAndUnittest,
  goLines,
  gradleAndDotnet,
  jest,
  marks,
  nextest,
  pytest,
  surefire,
  tap,
} from './test-lines.ts';
import { goJson, jsonReport, xmlReports } from './test-reports.ts';

/** Results of test runners, in the common formats. */

export interface TestCase {
  /** with its file, class or package, where the runner names it */
  name: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** null: the runner does not say */
  ms: number | null;
  /** a file or class as a whole: its runner does not name its tests, or only some of them, as `<name> > …` */
  group?: true;
  /** number of tests in a group, where it is known */
  tests?: number;
}

/** A reader finds nothing in a format that is not its own. Output may begin or end anywhere. */
export type TestReader = (lines: readonly string[], text: string) => TestCase[];

const READERS: readonly TestReader[] = [
  goJson,
  jsonReport,
  xmlReports,
  tap,
  cargoAndUnittest,
  nextest,
  pytest,
  goLines,
  surefire,
  gradleAndDotnet,
  jest,
  marks,
];

const NAME_CHARS = 300;
/** More are not kept: a table row holds them. */
const MOST_CASES = 10_000;

/**
 * The tests in the output of a runner; of several formats, the one that names the most. A name that comes twice gets a
 * number, so that a test that is gone is missed.
 */
export function readTests(output: string): TestCase[] {
  const text = visible(output);
  const lines = text.split('\n').map((line) => line.trimEnd());
  const found = READERS.map((read) => read(lines, text)).reduce((most, each) =>
    each.length > most.length ? each : most,
  );
  const times = new Map<string, number>();
  return found.slice(0, MOST_CASES).map((each) => {
    const name = prefix(each.name.trim(), NAME_CHARS);
    const time = (times.get(name) ?? 0) + 1;
    times.set(name, time);
    return { ...each, name: time === 1 ? name : `${name} (${time})` };
  });
}

/** Arguments of a test command that make its runner name every test. The command is otherwise the same. */
export function withNames(argv: readonly string[]): string[] {
  const at = (...words: string[]) => {
    const from = argv.findIndex((_, index) => words.every((word, more) => argv[index + more] === word));
    return from < 0 ? null : from + words.length;
  };
  const insert = (index: number | null, option: string) =>
    index === null || argv.includes(option) ? [...argv] : argv.toSpliced(index, 0, option);
  if (argv[0] === 'go') return insert(at('go', 'test'), '-json');
  const pytestEnd = at('-m', 'pytest') ?? at('pytest');
  // the summary names no skipped test, and the list names each
  if (pytestEnd !== null)
    return argv.some((word) => /^(?:-v+|--verbose)$/.test(word))
      ? insert(pytestEnd, '-rA')
      : insert(pytestEnd, '-rA').toSpliced(pytestEnd, 0, '-v');
  // else a failed test keeps others from being run, which then seem to be gone
  if (argv[0] === 'cargo') return insert(at('cargo', 'test'), '--no-fail-fast');
  if (at('unittest') !== null) return argv.includes('-v') ? [...argv] : [...argv, '-v'];
  return [...argv];
}

/** The same output for people: JSON lines of Go as the text that they hold. */
export function readableOutput(output: string): string {
  if (!output.includes('"Action":')) return output;
  return output
    .split('\n')
    .map((line) => {
      if (!line.startsWith('{')) return line === '' ? '' : `${line}\n`;
      try {
        const { Output = '' } = JSON.parse(line) as { Output?: unknown };
        return typeof Output === 'string' ? Output : '';
      } catch {
        return '';
      }
    })
    .join('');
}
