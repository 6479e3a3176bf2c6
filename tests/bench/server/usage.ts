import Docker from 'dockerode';
import { type ComposedServer, SERVICES } from '../../compose/server.ts';
import { round } from '../figures.ts';

const MB = 1024 * 1024;
const engine = new Docker();

export interface Usage {
  /** what the kernel cannot take back: without file caches that nobody uses */
  memoryMb: number;
  /** since the container's start */
  cpuMs: number;
}

/** Of every service; several containers of one are added up. From the containers' control groups. */
export async function usageOf(server: ComposedServer): Promise<Record<string, Usage>> {
  const entries = SERVICES.map(async (service) => {
    const stats = await Promise.all(
      (await server.containers(service)).map((id) =>
        engine.getContainer(id).stats({ stream: false, 'one-shot': true }),
      ),
    );
    const memory = stats.map(
      ({ memory_stats: { usage, stats: kinds } }) => usage - (kinds.total_inactive_file ?? kinds.inactive_file ?? 0),
    );
    const cpu = stats.map(({ cpu_stats }) => cpu_stats.cpu_usage.total_usage);
    return [service, { memoryMb: round(sum(memory) / MB, 0), cpuMs: sum(cpu) / 1e6 }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

export interface Measured {
  tookMs: number;
  perSecond(count: number): number;
  /** CPU of a service for each of so many */
  cpuMsOf(service: string, count: number): number;
  /** which share of the machine's cores was used, service by service */
  shares: string;
}

/** How long something takes, and what it costs each service. */
export async function measure(server: ComposedServer, act: () => Promise<unknown>): Promise<Measured> {
  const before = await usageOf(server);
  const begun = performance.now();
  await act();
  const tookMs = performance.now() - begun;
  const after = await usageOf(server);
  const used = (service: string): number => after[service]!.cpuMs - before[service]!.cpuMs;
  return {
    tookMs,
    perSecond: (count) => round((count * 1000) / tookMs, 1),
    cpuMsOf: (service, count) => round(used(service) / count, 1),
    shares: SERVICES.map((service) => `${service} ${round(used(service) / tookMs)}`).join(', '),
  };
}

/** Every database of the server, with its indexes. Rows as PostgreSQL's statistics count them. */
export async function sizes(server: ComposedServer): Promise<Record<string, { bytes: number; rows: number }>> {
  const found: Record<string, { bytes: number; rows: number }> = {};
  for (const database of ['fetch', 'temporal', 'temporal_visibility']) {
    await server.query(database, 'vacuum analyze');
    const [bytes, rows] = await Promise.all([
      server.query(database, 'select pg_database_size(current_database())'),
      server.query(database, 'select coalesce(sum(n_live_tup), 0) from pg_stat_user_tables'),
    ]);
    found[database] = { bytes: Number(bytes), rows: Number(rows) };
  }
  return found;
}

const sum = (values: number[]): number => values.reduce((all, each) => all + each, 0);
