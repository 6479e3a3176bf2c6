import { z } from 'zod';

/** How the status API answers a request that changed something. */
const success = z.object({ success: z.literal(true), message: z.string() }).meta({ id: 'Taken' });

export const taken = (what: string) => ({ schema: success, what });
export const done = (message: string) => ({ success: true as const, message });
