import { type ComposedServer, docker } from '../../compose/server.ts';
import type { Bare } from '../bare.ts';
import { type Row, round } from '../figures.ts';
import { activitiesOf } from '../turns.ts';
import type { Crowd } from './crowd.ts';
import { measure } from './usage.ts';

/** One turn in each of these chats, all at once. */
export async function chatsAtOnce(server: ComposedServer, crowd: Crowd, threads: string[]): Promise<Row> {
  return row('turns', threads.length, await measure(server, () => crowd.turns(threads)));
}

/** As many bare workflows of as many activities. */
export async function bareAtOnce(server: ComposedServer, bare: Bare, count: number): Promise<Row> {
  const all = () => Promise.all(Array.from({ length: count }, () => bare.run(activitiesOf(1))));
  return row('bare workflows', count, await measure(server, all));
}

/** What a second host for workers adds, when the first is what is short: each has a third of a core. */
export async function workersAtOnce(server: ComposedServer, crowd: Crowd, threads: string[]): Promise<Row[]> {
  const some = threads.slice(0, 300);
  const rows: Row[] = [];
  for (const workers of [1, 2, 3]) {
    await server.up('--scale', `worker=${workers}`);
    for (const each of await server.containers('worker')) await docker('update', '--cpus', '0.33', each);
    // a new one compiles first
    await crowd.turns(some.slice(0, 20 * workers));
    rows.push({ workers, ...row('turns', some.length, await measure(server, () => crowd.turns(some))) });
  }
  return rows;
}

const row = (
  what: string,
  count: number,
  { tookMs, perSecond, cpuMsOf, shares }: Awaited<ReturnType<typeof measure>>,
): Row => ({
  what,
  count,
  'took s': round(tookMs / 1000, 1),
  'a second': perSecond(count),
  'Temporal CPU ms': cpuMsOf('temporal', count),
  'PostgreSQL CPU ms': cpuMsOf('postgres', count),
  'worker CPU ms': cpuMsOf('worker', count),
  'gateway and API CPU ms': round(cpuMsOf('gateway', count) + cpuMsOf('api', count), 1),
  'cores used': shares,
});
