import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Gate } from '../adapters/kennel/gate/gate.ts';
import type { Kennel } from '../adapters/kennel/kennel.ts';
import type { Model } from '../adapters/model/model.ts';
import type { Config } from '../config.ts';
import type { Db } from '../store/postgres/database.ts';
import type { HostLease } from './host/lease.ts';

/** What activities work with; made once by the role's process. */
export interface ActivityDeps {
  db: Db;
  temporal: Client;
  config: Config;
  model: Model;
  /** for what ended; nothing is said without it */
  log?: Logger;
}

/** What a worker of a host with containers has besides; tools of the kennel run only there. */
export interface HostDeps {
  kennel: Kennel;
  host: string;
  workspacesFolder: string;
}

/** What a run of a routine works with; its steps on a host have the host's besides. */
export type RoutineDeps = Pick<ActivityDeps, 'db' | 'temporal' | 'config'> & Partial<HostDeps>;

/** What activities of coding tasks work with: the containers of this host, and the way out of them. */
export interface KennelDeps extends Omit<ActivityDeps, 'model'>, Omit<HostDeps, 'workspacesFolder'> {
  gate: Gate;
  /** whether this host may still act for its tasks */
  lease: Pick<HostLease, 'held'>;
  /** aborted when this process is to end: what can be handed back is handed back at once */
  draining: AbortSignal;
}
