import type { Reloaded } from '../../config.ts';
import type { ApiDeps } from '../api-deps.ts';
import { endpointsWith } from '../http/endpoint.ts';

/** What handlers of the status API get. */
export type StatusDeps = Pick<ApiDeps, 'config' | 'store' | 'intake' | 'version' | 'startedAt' | 'log' | 'codec'> & {
  adminToken: string;
  /** reads the settings again. @throws ConfigError */
  reload: () => Reloaded;
};

export const endpoint = endpointsWith<StatusDeps>();
