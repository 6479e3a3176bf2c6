import type { ApiDeps } from '../../api-deps.ts';
import { endpointsWith } from '../../http/endpoint.ts';
import type { Wakeups } from './wakeups.ts';

/** What handlers of the runtime API get. */
export type RuntimeDeps = ApiDeps & { wakeups: Wakeups };

export const endpoint = endpointsWith<RuntimeDeps>();
