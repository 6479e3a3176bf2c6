import { createHash } from 'node:crypto';

/** An id that is the same on every attempt of a call: `prefix` and 10 characters. */
export const idFromCall = (prefix: 'wf_' | 'mem_' | `cron_${string}_` | 'wfr_' | 'tsk_', callId: string): string =>
  prefix +
  BigInt(`0x${createHash('sha256').update(callId).digest('hex')}`)
    .toString(36)
    .slice(-10);
