import type { Look, MergeRule, PassCause, ShipmentMemory, Unseen } from '../../contracts/shipment.ts';
import { DAY, HOUR, MINUTE } from '../time.ts';

/** What a shipment does next, by what it has seen and done. It has no clock of its own, and changes nothing. */

type Next =
  | { do: 'end'; how: 'merged' | 'closed' }
  /** somebody else has pushed to its branch */
  | { do: 'ask'; about: 'moved' | 'passes' | 'money' | 'circle' | 'outside'; key: string; causes: PassCause[] }
  | { do: 'rebase'; key: string }
  | { do: 'pass'; causes: PassCause[]; key: string }
  | { do: 'merge' }
  /** it may be merged by a word of the owner */
  | { do: 'offer'; green: boolean }
  | { do: 'tell'; what: 'held' }
  | { do: 'wait' };

interface Known {
  memory: ShipmentMemory;
  look: Look;
  rule: MergeRule;
  now: number;
}

/** So often the same thing may be tried without a word of the person. */
const MOST_TRIES = 2;
/** A check that begins later than this after a push is not expected any more. */
const CHECKS_BEGIN_MS = 10 * MINUTE;

/** `refused`: the person wants nothing done about it. */
export const REFUSED = 1_000_000;

/** Why the work of a pass cannot be pushed any more, and another pass is made. */
export const MOVED_ON = 'Other commits have come to its branch meanwhile.';

/** How far git alone has come with a conflict of a commit. */
export const REBASE_TRIED = 1;
export const NEEDS_AGENT = 2;
export const conflictKey = ({ head }: Pick<Look, 'head'>): string => `conflict ${head}`;

export function nextOf({ memory, look, rule, now }: Known): Next {
  if (look.state !== 'open') return { do: 'end', how: look.state };
  if (look.head !== memory.head)
    return look.head === memory.refusedHead || isStale(look, memory, now)
      ? { do: 'wait' }
      : { do: 'ask', about: 'moved', key: `moved ${look.head}`, causes: [] };
  const work = workOf(look, memory);
  if (work) return work;
  if (look.checks === 'held') return { do: 'tell', what: 'held' };
  if (look.checks === 'passed' && look.review !== 'changes requested')
    return rule === 'green' && !look.conflicts ? { do: 'merge' } : { do: 'offer', green: true };
  // a project without checks is never green; the owner may merge it all the same
  if (look.checks === 'none' && now - memory.pushedAt > CHECKS_BEGIN_MS) return { do: 'offer', green: false };
  return { do: 'wait' };
}

/** The server of the page learns of a push a little later than that of the commits. */
const SEEN_LATE_MS = 5 * MINUTE;

const isStale = ({ head }: Look, { before, pushedAt }: ShipmentMemory, now: number): boolean =>
  head === before && now - pushedAt < SEEN_LATE_MS;

/** What an agent, or git alone, has to do; null when nothing. */
function workOf(look: Look, memory: ShipmentMemory): Next | null {
  const rebased = memory.tries[conflictKey(look)] ?? 0;
  if (look.conflicts && rebased < REBASE_TRIED) return { do: 'rebase', key: conflictKey(look) };
  const causes: PassCause[] = [
    // what git alone could not solve goes the way of every pass
    ...(look.conflicts && rebased === NEEDS_AGENT ? ['conflict' as const] : []),
    ...(look.checks === 'failed' ? ['checks' as const] : []),
    ...(look.remarks > 0 ? ['remarks' as const] : []),
  ].filter((cause) => (memory.tries[keyOf([cause], look)] ?? 0) < REFUSED);
  if (causes.length === 0) return null;
  // a conflict is solved alone: what an agent is told of it begins from another commit
  const chosen: PassCause[] = causes[0] === 'conflict' ? ['conflict'] : causes;
  const key = keyOf(chosen, look);
  if (chosen.includes('remarks') && look.outside && !memory.outside)
    return { do: 'ask', about: 'outside', key: `outside ${memory.changedAt}`, causes: chosen };
  const tried = Math.max(
    ...chosen.filter((cause) => cause !== 'remarks').map((c) => memory.tries[keyOf([c], look)] ?? 0),
    0,
  );
  if (tried >= MOST_TRIES) return { do: 'ask', about: 'circle', key: `circle ${key} ${memory.passes}`, causes: chosen };
  if (memory.passes >= memory.allowedPasses)
    return { do: 'ask', about: 'passes', key: `passes ${memory.passes}`, causes: chosen };
  if (memory.spentMicroUsd >= memory.allowedMicroUsd)
    return { do: 'ask', about: 'money', key: `money ${memory.passes}`, causes: chosen };
  return { do: 'pass', causes: chosen, key };
}

/** What a pull request waits for, when nobody works on it. */
export type WaitsFor = 'checks' | 'held' | 'failed' | 'conflict' | 'review' | 'approved' | 'word' | 'server' | 'token';

/** What a look says that it waits for; null when it is over. `ageMs`: since it was made. */
export function waitsFor(look: Look | Unseen, ageMs: number): WaitsFor | null {
  if ('unseen' in look) return look.unseen === 'token' ? 'token' : 'server';
  const { state, checks, conflicts, review } = look;
  if (state !== 'open') return null;
  if (conflicts) return 'conflict';
  if (checks === 'pending' || (checks === 'none' && ageMs < CHECKS_BEGIN_MS)) return 'checks';
  if (checks === 'failed' || checks === 'held') return checks;
  if (review === 'changes requested') return 'review';
  return review === 'approved' ? 'approved' : 'word';
}

/** The same work has the same key: the failed checks by their names, a conflict with the same base. */
export function keyOf(causes: readonly PassCause[], { failures }: Pick<Look, 'failures'>): string {
  return causes
    .map((cause) => (cause === 'checks' ? `checks ${failures}` : cause === 'conflict' ? 'conflicts' : cause))
    .join(' and ');
}

/** What a look is compared by: another one means that something goes on. */
export const seenOf = ({ state, head, checks, failures, remarks, review, conflicts }: Look): string =>
  [state, head, checks, failures, remarks, review, conflicts].join('|');

/** Time to the next look: soon while checks run, seldom when nothing has changed for days. */
export function pauseAfter(
  look: Pick<Look, 'checks'>,
  { changedAt }: Pick<ShipmentMemory, 'changedAt'>,
  now: number,
  { lookMs, longestLookMs }: { lookMs: number; longestLookMs: number },
): number {
  const quiet = now - changedAt;
  if (look.checks === 'pending' && quiet < DAY) return lookMs;
  const factor = quiet < HOUR ? 2 : quiet < DAY ? 10 : 30;
  return Math.min(lookMs * factor, longestLookMs);
}

/** A server that says how long it waits is believed, within reason. */
export function pauseUnseen(until: number | null, now: number, longestLookMs: number): number {
  const ms = until === null ? longestLookMs : until - now + 1_000;
  return Math.min(Math.max(ms, 1_000), Math.max(longestLookMs, 2 * HOUR));
}
