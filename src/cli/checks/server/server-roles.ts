import type { Config } from '../../../config.ts';
import { AGENT_QUEUE, gatewayQueue } from '../../../contracts/ids.ts';
import type { KennelHost } from '../../../store/kennel/hosts.ts';
import type { QueueStats } from '../../instance/connections/queue-stats.ts';
import type { OwnRole } from '../../instance/home/state-file.ts';
import type { Finding } from '../finding.ts';

/** Where roles on any machine leave a trace. */
interface Traces {
  /** names of connections with the database, such as `fetch-gateway-api-kennel` */
  applications: readonly string[];
  hosts: readonly KennelHost[];
  queues: readonly QueueStats[];
}

const WITHOUT: Readonly<Record<OwnRole, { does: string; start: string; needed: boolean }>> = {
  worker: { does: 'no chat gets an answer', start: 'fetch worker', needed: true },
  gateway: {
    does: 'nothing is sent or received on WhatsApp, and messages that a crash left wait',
    start: 'fetch gateway',
    needed: true,
  },
  api: { does: 'nobody can use it over HTTP', start: 'fetch api', needed: false },
  kennel: { does: 'coding tasks and commands wait', start: 'fetch kennel-worker', needed: false },
};

/**
 * Which roles work, on whatever machine. A role is there when it asks its queue for work or is connected with the
 * database. One that does nothing for ten seconds closes its connections, unless it writes FETCH_HEALTH_FILE, so an
 * idle role without that may be missed.
 */
export async function roleFindings(config: Config, { applications, hosts, queues }: Traces): Promise<Finding[]> {
  const connected = new Set(applications.flatMap((name) => name.split('-').slice(1)));
  const asks = (queue: string) => queues.some((each) => each.queue === queue && each.pollers > 0);
  const there: Record<OwnRole, boolean> = {
    worker: connected.has('worker') || asks(AGENT_QUEUE),
    gateway: connected.has('gateway') || asks(gatewayQueue('whatsapp')),
    api: connected.has('api') || (await answersHere(config)),
    kennel: hosts.some(({ alive }) => alive),
  };
  return (Object.keys(there) as OwnRole[]).map((role): Finding => {
    const name = `role ${role}`;
    if (there[role])
      return {
        name,
        state: 'ok',
        version: null,
        detail: role === 'kennel' ? kennelDetail(hosts) : 'is there',
        mend: null,
      };
    const { does, start, needed } = WITHOUT[role];
    return {
      name,
      state: needed ? 'missing' : 'warning',
      version: null,
      detail: `none is there: ${does}`,
      mend: start,
    };
  });
}

function kennelDetail(hosts: readonly KennelHost[]): string {
  const alive = hosts
    .filter((host) => host.alive)
    .map(({ host, problem }) => (problem ? `${host} (${problem})` : host));
  const gone = hosts.filter((host) => !host.alive).map(({ host }) => host);
  return `on ${alive.join(', ')}${gone.length > 0 ? `; seen earlier and gone: ${gone.join(', ')}` : ''}`;
}

/** A runtime API on this machine. */
export const answersHere = (config: Config): Promise<boolean> =>
  fetch(`http://127.0.0.1:${config.FETCH_RUNTIME_PORT}/health`, { signal: AbortSignal.timeout(5_000) })
    .then(
      async (response) => ((await response.json()) as { service?: string }).service === 'deepseek-runtime-api',
      () => false,
    )
    .catch(() => false);
