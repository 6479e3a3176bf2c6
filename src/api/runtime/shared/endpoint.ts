import type { ApiDeps } from '../../api-deps.ts';
import { endpointsWith } from '../../http/endpoint.ts';
import type { Wakeups } from './wakeups.ts';

/** Arguments of the handlers of the runtime API. */
export type RuntimeDeps = ApiDeps & { wakeups: Wakeups };

export const endpoint = endpointsWith<RuntimeDeps>();
