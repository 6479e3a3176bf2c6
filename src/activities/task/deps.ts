import type { Gate } from '../../adapters/kennel/gate/gate.ts';
import type { Kennel } from '../../adapters/kennel/kennel.ts';
import type { ActivityDeps } from '../deps.ts';
import type { HostLease } from '../host/lease.ts';

/** What activities of a kennel worker have besides: the containers of this host, and the way out of them. */
export interface KennelDeps extends Pick<ActivityDeps, 'db' | 'temporal' | 'config' | 'log'> {
  kennel: Kennel;
  gate: Gate;
  host: string;
  /** whether this host may still act for its tasks */
  lease: Pick<HostLease, 'held'>;
  /** aborted when this process is to end: what can be handed back is handed back at once */
  draining: AbortSignal;
}
