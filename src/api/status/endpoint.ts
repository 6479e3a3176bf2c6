import type { ApiDeps } from '../api-deps.ts';
import { endpointsWith } from '../http/endpoint.ts';

/** What handlers of the status API get. */
export type StatusDeps = Pick<
  ApiDeps,
  'config' | 'store' | 'intake' | 'version' | 'startedAt' | 'log' | 'codec' | 'reload'
> & {
  adminToken: string;
};

export const endpoint = endpointsWith<StatusDeps>();
