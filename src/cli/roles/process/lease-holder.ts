import { readlinkSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import type { LeaseHolder } from '../../../gateway/channels/channel.ts';
import { isAlive, startTimeOf } from '../../instance/home/process-identity.ts';

/**
 * This process as the holder of a lease: where its pid counts, the pid, and its start time. A holder of the same place
 * whose process is gone is surely dead, so that a restart after a kill need not wait for the lease to end.
 */
export async function leaseHolder(): Promise<LeaseHolder> {
  const place = placeOfPids();
  const start = await startTimeOf(process.pid);
  return {
    id: `${place}/${process.pid}/${start}`,
    async isDead(id) {
      const [otherPlace, pid, ...rest] = id.split('/');
      if (otherPlace !== place || !pid) return false;
      return !(await isAlive({ pid: Number(pid), startTime: rest.join('/') }));
    },
  };
}

/**
 * Processes with this in common see each other by pid: a pid namespace of one boot, or one machine where there are
 * none.
 */
function placeOfPids(): string {
  const machine = [
    hostname(),
    ...Object.values(networkInterfaces()).flatMap(
      (addresses) => addresses?.filter(({ internal }) => !internal).map(({ mac }) => mac) ?? [],
    ),
  ];
  try {
    return `${machine[0]}:${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return machine.slice(0, 2).join(':');
  }
}
