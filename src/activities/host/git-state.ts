import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Profile } from '../../contracts/workspace-ops.ts';
import { dueLooks, type SeenWorkspace, saveWorkspace } from '../../store/kennel/workspaces/workspaces.ts';
import type { KennelDeps } from '../activity-deps.ts';

type RefreshDeps = Pick<KennelDeps, 'db' | 'host' | 'kennel'> & { log: Logger };

const LIMIT_MS = 60_000;
/** Files that git writes at a commit, a checkout or an `add`. Other changes are found by the next full look. */
const GIT_FILES = ['', '.git', '.git/HEAD', '.git/index', '.git/logs/HEAD'];
/** A look starts a container, so a workspace without a sign of change waits longer than one with it. */
const FULL_LOOK_MS = 600_000;
/** The question what is due reads the threads of a day. */
const IDLE_MS = 15_000;

/** Reads branch, head and changes of used workspaces again, one at a time, so that lists are right without a tool. */
export class GitRefresher {
  private readonly deps: RefreshDeps;
  /** by path: what the files of git were like at the last look, and when that was */
  private readonly looks = new Map<string, { stamp: string; at: number }>();
  private busy = false;
  private idleUntil = 0;

  constructor(deps: RefreshDeps) {
    this.deps = deps;
  }

  /** Begins the next look that is due, if none is under way. */
  async begin(): Promise<void> {
    if (this.busy || Date.now() < this.idleUntil) return;
    for (const due of await dueLooks(this.deps.db, this.deps.host)) {
      const stamp = await stampOf(due.path);
      const last = this.looks.get(due.path) ?? { stamp: '', at: due.seen_at.getTime() };
      const changed = last.stamp === '' ? await changedSince(due) : last.stamp !== stamp;
      if (!changed && Date.now() - last.at < FULL_LOOK_MS) continue;
      this.busy = true;
      void this.look(due).finally(async () => {
        // git itself may have written its index
        this.looks.set(due.path, { stamp: await stampOf(due.path), at: Date.now() });
        this.busy = false;
      });
      return;
    }
    this.idleUntil = Date.now() + IDLE_MS;
  }

  private async look({ name, path }: SeenWorkspace): Promise<void> {
    const { db, host, kennel, log } = this.deps;
    try {
      const answer = await kennel.workspaceOp(path, { op: 'profile' }, { signal: AbortSignal.timeout(LIMIT_MS) });
      if (answer.ok && answer.data)
        await saveWorkspace(db, { host, name, path, profile: answer.data as unknown as Profile });
    } catch (error) {
      // the next full look tries again
      log.debug({ workspace: name, error: (error as Error).message }, 'could not look at a workspace');
    }
  }
}

const timesOf = (path: string): Promise<number[]> =>
  Promise.all(
    GIT_FILES.map((name) =>
      lstat(join(path, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );

const stampOf = async (path: string): Promise<string> => (await timesOf(path)).join(' ');

/** For a workspace that this process has not looked at. */
const changedSince = async ({ path, seen_at }: SeenWorkspace): Promise<boolean> =>
  Math.max(...(await timesOf(path))) > seen_at.getTime();
