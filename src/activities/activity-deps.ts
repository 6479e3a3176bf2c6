import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Browsers } from '../adapters/kennel/browser/browsers.ts';
import type { Gate } from '../adapters/kennel/gate/gate.ts';
import type { Kennel } from '../adapters/kennel/kennel.ts';
import type { Model } from '../adapters/model/model.ts';
import type { Config } from '../config.ts';
import type { Db } from '../store/postgres/database.ts';
import type { HostLease } from './lease.ts';

/** Dependencies of activities, created once by the process of the role. */
export interface ActivityDeps {
  db: Db;
  temporal: Client;
  config: Config;
  model: Model;
  /** logs what ended; nothing is logged without it */
  log?: Logger;
}

/** Further dependencies on a host with containers. Kennel tools run only there. */
export interface HostDeps {
  kennel: Kennel;
  host: string;
  workspacesFolder: string;
  browsers: Browsers;
  /** whether this host may still act in its workspaces and for its tasks */
  lease: Pick<HostLease, 'held'>;
}

/** Dependencies of a routine's run. On a host with containers its routine steps also get the host's parts. */
export type RoutineDeps = Pick<ActivityDeps, 'db' | 'temporal' | 'config'> & Partial<HostDeps>;

/** Dependencies of coding tasks: the host's containers, and their way out. */
export interface KennelDeps extends Omit<ActivityDeps, 'model'>, Omit<HostDeps, 'workspacesFolder' | 'browsers'> {
  gate: Gate;
  /** for pictures of what a task has made; there are none without it */
  browsers?: Browsers;
  /** aborted when this process must end; work that can be handed back is handed back at once */
  draining: AbortSignal;
}
