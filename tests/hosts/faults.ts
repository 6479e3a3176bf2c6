import { readAccount } from '../../src/store/whatsapp/account.ts';
import { until } from '../support/until.ts';
import { type Cluster, SERVERS, type Server } from './cluster.ts';

/** What happens to one of the two hosts. */
export interface Fault {
  name: string;
  strike(cluster: Cluster, at: number): Promise<void> | void;
  heal(cluster: Cluster, at: number): Promise<void> | void;
}

const cut = (server: Server): Fault => ({
  name: `cut off from ${server}`,
  strike: ({ hosts, links }, at) => hosts[at]!.network.cut(links[at]![server].port),
  heal: ({ hosts }, at) => hosts[at]!.network.heal(),
});
const clock = (minutes: number): Fault => ({
  name: `clock ${Math.abs(minutes)} min ${minutes < 0 ? 'behind' : 'ahead'}`,
  strike: ({ hosts }, at) => hosts[at]!.shiftClock(minutes * 60),
  heal: ({ hosts }, at) => hosts[at]!.shiftClock(0),
});
/** Half of the 200 ms on the way there, half on the way back. */
const SLOW = { ms: 100, loss: 0.02 };
const slow = ({ links }: Cluster, at: number, slowness: typeof SLOW | null): void => {
  for (const link of Object.values(links[at]!)) link.slow(slowness);
};

export const FAULTS: readonly Fault[] = [
  ...SERVERS.map(cut),
  {
    name: 'cut off from everything',
    strike: ({ hosts }, at) => hosts[at]!.network.cut(),
    heal: ({ hosts }, at) => hosts[at]!.network.heal(),
  },
  {
    name: 'slow way, 200 ms and 2 % loss',
    strike: (cluster, at) => slow(cluster, at, SLOW),
    heal: (cluster, at) => slow(cluster, at, null),
  },
  clock(10),
  clock(-10),
  {
    name: 'disk full',
    strike: ({ hosts }, at) => hosts[at]!.fillDisk(),
    heal: ({ hosts }, at) => hosts[at]!.freeDisk(),
  },
  { name: 'killed', strike: ({ hosts }, at) => hosts[at]!.kill(), heal: ({ hosts }, at) => hosts[at]!.start() },
  // roles that start again find no space
  {
    name: 'killed, and its disk is full at the next start',
    async strike({ hosts }, at) {
      await hosts[at]!.kill();
      hosts[at]!.fillDisk();
      hosts[at]!.start();
    },
    heal: ({ hosts }, at) => hosts[at]!.freeDisk(),
  },
];

/** Which host has WhatsApp: the name is the first part of the lease's holder. */
export const whatsappHost = ({ hosts, database }: Cluster): Promise<number> =>
  until('a host has WhatsApp', async () => {
    const account = await readAccount(database.store.db, 'default');
    const at = hosts.findIndex(({ name }) => account?.lease_holder?.startsWith(`${name}:`));
    return account?.state === 'authenticated' && at >= 0 && { at };
  }).then(({ at }) => at);
