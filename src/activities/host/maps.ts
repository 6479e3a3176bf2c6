import type { Logger } from 'pino';
import { KennelFull, KennelUnavailable } from '../../adapters/kennel/kennel.ts';
import type { RepositoryMap } from '../../contracts/workspace-ops.ts';
import { dueMap, keyOfMap, saveMap } from '../../store/kennel/workspaces/repository-maps.ts';
import type { KennelDeps } from '../activity-deps.ts';

type MapDeps = Pick<KennelDeps, 'db' | 'host' | 'kennel'> & { log: Logger };

const LIMIT_MS = 60_000;

/** Makes the maps of repositories, one at a time. No turn and no other work of the host waits for one. */
export class MapMaker {
  private readonly deps: MapDeps;
  /** not tried again by this process */
  private readonly failed = new Set<string>();
  private busy = false;

  constructor(deps: MapDeps) {
    this.deps = deps;
  }

  /** Begins the next map that is due, if none is being made. */
  async begin(): Promise<void> {
    if (this.busy) return;
    const { db, host, kennel, log } = this.deps;
    const due = await dueMap(db, host, this.failed);
    if (!due) return;
    this.busy = true;
    const made = kennel
      .workspaceOp(due.path, { op: 'map' }, { signal: AbortSignal.timeout(LIMIT_MS) })
      .then(({ ok, data }) =>
        saveMap(db, host, due, ok ? (data as unknown as RepositoryMap) : { files: 0, lines: [] }),
      );
    void made
      .catch((error: Error) => {
        // an engine that is away comes back
        if (error instanceof KennelUnavailable || error instanceof KennelFull) return;
        this.failed.add(keyOfMap(due));
        log.warn({ workspace: due.workspace, error: error.message }, 'could not make the map of a repository');
      })
      .finally(() => {
        this.busy = false;
      });
  }
}
