import { inline } from '../../text/foreign-text.ts';

/** Build and lint of a project after a task, beside how they ended before it. */

/** The parts of a project that are checked beside its tests, in their order. */
export const PARTS_BESIDE_TESTS = ['build', 'lint'] as const;

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
  const [build, lint] = PARTS_BESIDE_TESTS.map(stateOf);
  const failing = parts.filter(({ state }) => state !== 'passed').map(sentenceOf);
  const passing = parts.filter(({ state }) => state === 'passed').map(({ command }) => code(command));
  const isBuildBroken = build !== undefined && isBroken(build);
  return {
    level: isBuildBroken ? 'unverified' : failing.length > 0 ? 'partly' : 'verified',
    headline: isBuildBroken
      ? ', but it does not build'
      : build?.state === 'failed'
        ? ', but it does not build, as before'
        : lint && isBroken(lint)
          ? ', but its lint fails'
          : null,
    failing,
    passing: passing.length > 0 ? [`${passing.join(' and ')} ${passing.length === 1 ? 'passes' : 'pass'}.`] : [],
  };
}

function sentenceOf({ command, state, passedBefore }: PartCheck): string {
  const ends = state === 'failed' ? 'fails' : 'did not end in time';
  if (passedBefore === null) return `${code(command)} ${ends}. Whether it passed before is not known.`;
  return `${code(command)} ${ends}${passedBefore ? ', and passed before it' : ', as before'}.`;
}

const code = (command: string): string => `\`${inline(command, 200).replaceAll('`', "'")}\``;
