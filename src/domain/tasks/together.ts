import { moneyText, tokensText } from '../model/price-book.ts';
import { inline } from '../text/foreign-text.ts';
import { captionOf, duration, type Report } from './report.ts';

/** Several tasks that began together, side by side. */

export interface Attempt {
  goal: string;
  harness: string;
  state: 'completed' | 'failed' | 'cancelled';
  reason: string;
  seconds: number;
  spent: Report['spent'];
  result: Report['result'];
}

const GOAL_SHOWN = 100;
const FILES_SHOWN = 3;

/** One of several that is over, while others still work. */
export const oneOverText = (
  kind: 'race' | 'split',
  at: number,
  of: number,
  attempt: Attempt,
  workspace: string,
): string =>
  `${kind === 'race' ? 'Attempt' : 'Part'} ${at} of ${of} in ${workspace} is over: ${howOf(attempt)}. I write when all are.`;

/** All are over: what each came to, which one the checks speak for, and how to choose. */
export function allOverText(kind: 'race' | 'split', attempts: readonly Attempt[], workspace: string): string {
  const goal = inline(attempts[0]!.goal, GOAL_SHOWN);
  const lines = attempts.map((attempt, at) => {
    const what = kind === 'race' ? attempt.harness : `"${inline(attempt.goal, GOAL_SHOWN)}"`;
    return `${at + 1}. ${what}: ${howOf(attempt)}`;
  });
  const head =
    kind === 'race'
      ? `All ${attempts.length} attempts in ${workspace} are over: "${goal}"`
      : `All ${attempts.length} parts in ${workspace} are over:`;
  const pictures = attempts.flatMap(({ result }, at) =>
    (result.pictures ?? []).flatMap(({ page, after }) =>
      after ? [`![${at + 1}: ${captionOf(page)}](attachment:${after})`] : [],
    ),
  );
  return [head, lines.join('\n'), kind === 'race' ? choiceText(attempts) : mergeText(attempts), pictures.join('\n')]
    .filter(Boolean)
    .join('\n\n');
}

function howOf({ state, reason, seconds, spent, result }: Attempt): string {
  if (state === 'cancelled') return 'stopped';
  if (state === 'failed') return `not done, ${inline(reason, 200).replace(/[.!]$/, '')}`;
  const { changes, verdict } = result;
  const tested = (verdict?.headline ?? '. No tests were run').replace(/^[,.] ?(?:and )?/, '').replace(/\.$/, '');
  const count = changes?.filesChanged ?? changes?.files.length ?? 0;
  const changed =
    changes && count > 0
      ? `${count} ${count === 1 ? 'file' : 'files'} (+${changes.added} -${changes.removed})`
      : 'nothing changed';
  const tokens = spent.inputTokens + spent.outputTokens;
  const cost =
    spent.calls === 0 ? [] : [spent.microUsd > 0 ? moneyText({ ...spent, tokens }) : `${tokensText(tokens)} tokens`];
  return [tested, changed, duration(seconds), ...cost].join(', ');
}

const LEVELS = { verified: 0, partly: 1, unverified: 2 } as const;

const canBeBroughtIn = ({ state, result: { changes } }: Attempt): boolean =>
  state === 'completed' && Boolean(changes?.commit) && (changes?.files.length ?? 0) > 0;

/** The attempt that the checks speak for: the best verdict, then the smallest difference. Null: none changed anything. */
export function bestOf(attempts: readonly Attempt[]): number | null {
  const rank = ({ result: { verdict, changes } }: Attempt): number[] => [
    verdict ? LEVELS[verdict.level] : 3,
    verdict?.failed ?? 0,
    (changes?.added ?? 0) + (changes?.removed ?? 0),
  ];
  const able = attempts.flatMap((attempt, at) => (canBeBroughtIn(attempt) ? [{ at, rank: rank(attempt) }] : []));
  able.sort(
    (a, b) => a.rank.map((value, n) => value - b.rank[n]!).find((difference) => difference !== 0) ?? a.at - b.at,
  );
  return able[0] ? able[0].at + 1 : null;
}

function choiceText(attempts: readonly Attempt[]): string {
  const best = bestOf(attempts);
  if (best === null) return 'None of them changed anything that could be taken.';
  return `By the checks and the size of the change: ${best}. Answer with a number, and I bring that one in. The others are kept for a day after that.`;
}

function mergeText(attempts: readonly Attempt[]): string {
  const able = attempts.filter(canBeBroughtIn);
  if (able.length === 0) return 'None of them changed anything that could be brought in.';
  const shared = sharedFiles(attempts);
  const warning =
    shared.length > 0
      ? `Changed by more than one: ${shared
          .slice(0, FILES_SHOWN)
          .map((path) => `\`${inline(path, 100)}\``)
          .join(', ')}${shared.length > FILES_SHOWN ? ` and ${shared.length - FILES_SHOWN} more` : ''}.\n\n`
      : '';
  return `${warning}Say "merge", and I bring them in one after the other, with the tests after each. "choose 2" brings in that one alone.`;
}

/** Files that more than one of them changed. */
function sharedFiles(attempts: readonly Attempt[]): string[] {
  const counts = new Map<string, number>();
  for (const { result } of attempts)
    for (const { path } of result.changes?.files ?? []) counts.set(path, (counts.get(path) ?? 0) + 1);
  return [...counts].flatMap(([path, count]) => (count > 1 ? [path] : []));
}
