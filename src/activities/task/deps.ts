import type { Gate } from '../../adapters/kennel/gate/gate.ts';
import type { Kennel } from '../../adapters/kennel/kennel.ts';
import type { ActivityDeps } from '../deps.ts';

/** What activities of a kennel worker have besides: the containers of this host, and the way out of them. */
export interface KennelDeps extends Pick<ActivityDeps, 'db' | 'temporal' | 'config'> {
  kennel: Kennel;
  gate: Gate;
  host: string;
  /** aborted when this process is to end: what can be handed back is handed back at once */
  draining: AbortSignal;
}
