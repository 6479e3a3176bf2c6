import { moneyText, tokensText } from '../model/price-book.ts';
import { inline } from '../text/foreign-text.ts';
import { sayAgain } from '../texts/again.ts';
import { english, type Say } from '../texts/say.ts';
import { captionOf, duration, type Report, verdictHeadline } from './report.ts';

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
  { at, of, attempt, workspace }: { at: number; of: number; attempt: Attempt; workspace: string },
  say: Say = english,
): string => say(`${kind}.one`, { at, of, workspace, how: howOf(attempt, say) });

/** All are over: what each came to, which one the checks speak for, and how to choose. */
export function allOverText(
  kind: 'race' | 'split',
  attempts: readonly Attempt[],
  workspace: string,
  say: Say = english,
): string {
  const goal = inline(attempts[0]!.goal, GOAL_SHOWN);
  const lines = attempts.map((attempt, at) => {
    const wanted = `"${inline(attempt.goal, GOAL_SHOWN)}"`;
    // one that joins parts of others has a goal of its own
    const joins = kind === 'race' && attempt.goal !== attempts[0]!.goal;
    const what = joins ? `${attempt.harness}, ${wanted}` : kind === 'race' ? attempt.harness : wanted;
    return `${at + 1}. ${what}: ${howOf(attempt, say)}`;
  });
  const count = attempts.length;
  const head = kind === 'race' ? say('race.all', { count, workspace, goal }) : say('split.all', { count, workspace });
  const pictures = attempts.flatMap(({ result }, at) =>
    (result.pictures ?? []).flatMap(({ page, after }) =>
      after ? [`![${at + 1}: ${captionOf(page)}](attachment:${after})`] : [],
    ),
  );
  return [
    head,
    lines.join('\n'),
    kind === 'race' ? choiceText(attempts, say) : mergeText(attempts, say),
    pictures.join('\n'),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function howOf({ state, reason, seconds, spent, result }: Attempt, say: Say): string {
  if (state === 'cancelled') return say('race.stopped');
  if (state === 'failed') return say('race.failed', { why: inline(sayAgain(reason, say), 200).replace(/[.!।]$/, '') });
  const { changes, verdict } = result;
  const headline = verdict ? verdictHeadline(verdict.headline, say) : say('tests.none');
  const tested = headline.replace(/^[,.।] ?(?:and )?/, '').replace(/[.।]$/, '');
  const count = changes?.filesChanged ?? changes?.files.length ?? 0;
  const changed =
    changes && count > 0
      ? say('race.files', { count, added: changes.added, removed: changes.removed })
      : say('race.unchanged');
  const tokens = spent.inputTokens + spent.outputTokens;
  const cost =
    spent.calls === 0
      ? []
      : [spent.microUsd > 0 ? moneyText({ ...spent, tokens }, say) : say('race.tokens', { count: tokensText(tokens) })];
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

function choiceText(attempts: readonly Attempt[], say: Say): string {
  const best = bestOf(attempts);
  if (best === null) return say('race.none');
  const able = attempts.filter(canBeBroughtIn).length;
  return [say('race.choose', { best }), ...(able > 1 ? [say('race.parts')] : [])].join('\n');
}

function mergeText(attempts: readonly Attempt[], say: Say): string {
  const able = attempts.filter(canBeBroughtIn);
  if (able.length === 0) return say('split.none');
  const shared = sharedFiles(attempts);
  const files = shared
    .slice(0, FILES_SHOWN)
    .map((path) => `\`${inline(path, 100)}\``)
    .join(', ');
  const more = shared.length - FILES_SHOWN;
  const named = more > 0 ? say('split.sharedMore', { files, count: more }) : files;
  return [...(shared.length > 0 ? [say('split.shared', { files: named })] : []), say('split.merge')].join('\n\n');
}

/** Files that more than one of them changed. */
function sharedFiles(attempts: readonly Attempt[]): string[] {
  const counts = new Map<string, number>();
  for (const { result } of attempts)
    for (const { path } of result.changes?.files ?? []) counts.set(path, (counts.get(path) ?? 0) + 1);
  return [...counts].flatMap(([path, count]) => (count > 1 ? [path] : []));
}
