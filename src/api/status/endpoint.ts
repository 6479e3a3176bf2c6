import { z } from 'zod';
import type { ApiDeps } from '../api-deps.ts';
import { endpointsWith } from '../http/endpoint.ts';

/** Arguments of the handlers of the status API. */
export type StatusDeps = Pick<
  ApiDeps,
  'config' | 'store' | 'intake' | 'version' | 'startedAt' | 'log' | 'codec' | 'reload'
> & {
  adminToken: string;
};

export const endpoint = endpointsWith<StatusDeps>();

/** How the status API answers a request that changed something. */
const success = z.object({ success: z.literal(true), message: z.string() }).meta({ id: 'Taken' });

export const taken = (what: string) => ({ schema: success, what });
export const done = (message: string) => ({ success: true as const, message });
