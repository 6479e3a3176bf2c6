import { inline } from '../../text/foreign-text.ts';
import { english } from '../../texts/say.ts';

/** Build, types and lint of a project after a task, beside how they ended before it. */

/** The parts of a project that are checked beside its tests, in their order. */
export const PARTS_BESIDE_TESTS = ['build', 'types', 'lint'] as const;

export interface PartCheck {
  part: (typeof PARTS_BESIDE_TESTS)[number];
  command: string;
  state: 'passed' | 'failed' | 'timed out';
  /** whether it passed on the files as they were before the task; null: not known */
  passedBefore: boolean | null;
  /** the end of what it printed */
  output: string;
}

/** It fails, and nothing shows that it failed before the task. */
export const isBroken = ({ state, passedBefore }: PartCheck): boolean => state === 'failed' && passedBefore !== false;

/** What parts say beside the tests, as a part of a verdict. `level`: it can be no better than this one. */
export function partsText(parts: readonly PartCheck[]): {
  level: 'verified' | 'partly' | 'unverified';
  /** null: the tests alone say it */
  headline: string | null;
  failing: string[];
  passing: string[];
} {
  const stateOf = (part: PartCheck['part']) => parts.find((each) => each.part === part);
  const [build, types, lint] = PARTS_BESIDE_TESTS.map(stateOf);
  const failing = parts.filter(({ state }) => state !== 'passed').map(sentenceOf);
  const passing = parts.filter(({ state }) => state === 'passed').map(({ command }) => command);
  const isBuildBroken = build !== undefined && isBroken(build);
  const areTypesBroken = types !== undefined && isBroken(types);
  return {
    level: isBuildBroken || areTypesBroken ? 'unverified' : failing.length > 0 ? 'partly' : 'verified',
    headline: isBuildBroken
      ? ', but it does not build'
      : build?.state === 'failed'
        ? ', but it does not build, as before'
        : areTypesBroken
          ? english('tests.typesFail')
          : lint && isBroken(lint)
            ? ', but its lint fails'
            : null,
    failing,
    passing: [passing.slice(0, 2), passing.slice(2)].flatMap((some) => (some.length > 0 ? [passText(some)] : [])),
  };
}

const SENTENCES = {
  failed: ['verdict.partFails', 'verdict.partFailsOlder', 'verdict.partFailsUnknown'],
  'timed out': ['verdict.partLate', 'verdict.partLateOlder', 'verdict.partLateUnknown'],
} as const;

function sentenceOf({ command, state, passedBefore }: PartCheck): string {
  if (state === 'passed') return passText([command]);
  const [passed, older, unknown] = SENTENCES[state];
  return english(passedBefore === null ? unknown : passedBefore ? passed : older, { command: plain(command) });
}

function passText([first, second]: readonly string[]): string {
  if (first === undefined) return '';
  const command = plain(first);
  return second === undefined
    ? english('verdict.partPasses', { command })
    : english('verdict.partsPass', { command, second: plain(second) });
}

/** As it can stand between marks of code. */
const plain = (command: string): string => inline(command, 200).replaceAll('`', "'");
