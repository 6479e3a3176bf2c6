import type { ChecksState } from '../../contracts/shipment.ts';

/**
 * What the checks of a commit say together. Actions, check runs and commit statuses are three lists, and a project may
 * use any of them; a commit is green only when something ran for it and nothing failed.
 */

export interface Check {
  /** `run`: a whole run of a CI pipeline. `job`: one check of a program. `status`: a status without a log */
  kind: 'run' | 'job' | 'status';
  id: string;
  name: string;
  state: 'pending' | 'passed' | 'failed' | 'held' | 'skipped';
  /** page for people */
  url: string;
  /** what the program said of it, without its log */
  said: string;
}

interface Checks {
  state: ChecksState;
  /** those that failed; a run only where none of its jobs is known to have failed */
  failed: Check[];
}

export function checksOf(all: readonly Check[]): Checks {
  const ran = all.filter(({ state }) => state !== 'skipped');
  const has = (state: Check['state']) => ran.some((check) => check.state === state);
  const failed = ran.filter(({ state }) => state === 'failed');
  const jobs = failed.filter(({ kind }) => kind !== 'run');
  const shown = jobs.length > 0 ? jobs : failed;
  // a fix needs every failure, so the checks that still run are waited for
  if (has('pending')) return { state: 'pending', failed: shown };
  if (failed.length > 0) return { state: 'failed', failed: shown };
  if (has('held')) return { state: 'held', failed: [] };
  return { state: has('passed') ? 'passed' : 'none', failed: [] };
}

/** The state of a check or run by the words of GitHub's API; unknown ones are never green. */
export function stateOf(status: string, conclusion: string | null): Check['state'] {
  if (status === 'waiting' || conclusion === 'action_required') return 'held';
  if (status !== 'completed') return 'pending';
  switch (conclusion) {
    case 'success':
      return 'passed';
    case 'neutral':
    case 'skipped':
      return 'skipped';
    case 'failure':
    case 'timed_out':
    case 'startup_failure':
      return 'failed';
    default:
      // cancelled and stale say nothing of the commit
      return 'held';
  }
}

/** The same failures have the same key, whatever their order and ids are. */
export const failuresKey = (failed: readonly Pick<Check, 'kind' | 'name'>[]): string =>
  [...new Set(failed.map(({ kind, name }) => `${kind} ${name}`))].sort().join('\n');
