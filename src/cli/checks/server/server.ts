import { Client, Connection } from '@temporalio/client';
import type { Config } from '../../../config.ts';
import { AGENT_QUEUE, BACKGROUND_QUEUE, gatewayQueue, kennelQueue } from '../../../contracts/ids.ts';
import { readServerFacts, type ServerFacts } from '../../../store/home/operations.ts';
import { type KennelHost, listHosts } from '../../../store/kennel/hosts.ts';
import { type Db, openStore } from '../../../store/postgres/database.ts';
import { schemaState } from '../../../store/schema/migrations.ts';
import { readAccount } from '../../../store/whatsapp/account.ts';
import { type QueueStats, queueStats } from '../../instance/connections/queue-stats.ts';
import { temporalEndpoint } from '../../instance/connections/servers.ts';
import type { Finding } from '../finding.ts';
import { certificateFindings, shownCertificateFindings } from './certificates.ts';
import { namespaceFindings } from './namespace.ts';
import { roleFindings } from './server-roles.ts';

/** Work that waits longer than this is noticed by people. Routine runs wait for people by design. */
const lateSeconds = (queue: string): number => (queue === BACKGROUND_QUEUE ? 600 : 30);

/** A worker takes no longer than this to ask for the first routine run. */
const START_SECONDS = 30;

const isWorkers = (queue: string): boolean => queue === AGENT_QUEUE || queue === BACKGROUND_QUEUE;

/**
 * Task queues: who asks them for work, and what waits. The server forgets a worker five minutes after its last
 * question.
 */
export function queueFindings(queues: readonly QueueStats[]): Finding[] {
  return queues.map(({ queue, kind, backlog, ageSeconds, pollers }) => {
    const name = `queue ${queue}`;
    const tasks = kind === 'workflow' ? 'workflow tasks' : 'activities';
    const detail = `${tasks}: ${backlog === 0 ? 'none waits' : `${backlog} wait, the oldest for ${ageSeconds} s`}; ${pollers} ask for work`;
    // workers ask the other one from the first routine run on
    if (pollers === 0 && (queue !== BACKGROUND_QUEUE || ageSeconds > START_SECONDS))
      return {
        name,
        state: isWorkers(queue) ? 'missing' : 'warning',
        version: null,
        detail,
        mend: `start ${isWorkers(queue) ? 'a worker: fetch worker' : queue.startsWith('kennel-') ? 'the kennel of that host: fetch kennel-worker' : 'the gateway: fetch gateway'}`,
      };
    if (ageSeconds > lateSeconds(queue))
      return {
        name,
        state: 'warning',
        version: null,
        detail,
        mend: isWorkers(queue) ? 'run one more worker' : 'look at the log of the role that asks it',
      };
    return { name, state: 'ok', version: null, detail, mend: null };
  });
}

const CONNECT_MS = 5_000;

/**
 * What `fetch doctor` says of single roles with servers that run elsewhere. It only looks, and changes nothing there.
 * Whether the servers answer at all is said by other findings: of a server that does not, nothing more is said here.
 */
export async function serverFindings(config: Config): Promise<Finding[]> {
  const certificates = [
    ...certificateFindings(config),
    ...(await shownCertificateFindings(config).catch((): Finding[] => [])),
  ];
  if (!config.TEMPORAL_ADDRESS || !config.DATABASE_URL) return certificates;
  const [store, server] = await Promise.all([
    openStore(config.DATABASE_DIRECT_URL ?? config.DATABASE_URL, {
      max: 2,
      application: 'fetch-doctor',
      migrate: false,
    }).catch(() => null),
    connect(config).catch(() => null),
  ]);
  try {
    return [
      ...certificates,
      ...(await findings(
        config,
        store?.db ?? null,
        server && new Client({ connection: server, namespace: config.TEMPORAL_NAMESPACE }),
      )),
    ];
  } finally {
    await Promise.all([store?.close(), server?.close()]);
  }
}

const connect = async (config: Config): Promise<Connection> =>
  await Connection.connect({ ...temporalEndpoint(config), connectTimeout: CONNECT_MS });

async function findings(config: Config, db: Db | null, temporal: Client | null): Promise<Finding[]> {
  const [inDatabase, inTemporal] = await Promise.all([
    db ? lookAtDatabase(db) : null,
    temporal ? namespaceFindings(temporal, config.TEMPORAL_NAMESPACE) : null,
  ]);
  const found = [...(inDatabase?.findings ?? []), ...(inTemporal?.findings ?? [])];
  // without tables and a namespace there is nothing that roles could do
  if (!inDatabase?.records || !inTemporal?.exists || !temporal) return found;
  const { facts, records } = inDatabase;
  const queues = await queueStats(temporal, config.TEMPORAL_NAMESPACE, queuesOf(records)).catch((): QueueStats[] => []);
  return [
    ...found,
    ...(await roleFindings(config, { applications: facts.applications, hosts: records.hosts, queues })),
    ...queueFindings(queues),
  ];
}

/** The known state of the workers. */
interface Records {
  hosts: KennelHost[];
  /** somebody wants WhatsApp */
  whatsapp: boolean;
}

async function lookAtDatabase(db: Db): Promise<{ findings: Finding[]; facts: ServerFacts; records: Records | null }> {
  const [facts, schema] = await Promise.all([readServerFacts(db), schemaState(db as never)]);
  const findings = [connectionFinding(facts), schemaFinding(schema)];
  if (schema.missing.length > 0) return { findings, facts, records: null };
  const [hosts, account] = await Promise.all([listHosts(db), readAccount(db, 'default')]);
  return {
    findings,
    facts,
    records: { hosts, whatsapp: account !== null && account !== undefined && account.wanted !== 'off' },
  };
}

const queuesOf = ({ hosts, whatsapp }: Records): string[] => [
  AGENT_QUEUE,
  BACKGROUND_QUEUE,
  ...(whatsapp ? [gatewayQueue('whatsapp')] : []),
  ...hosts.filter(({ alive }) => alive).map(({ host }) => kennelQueue(host)),
];

/** Above this share of its connections a server soon refuses one. */
const MANY = 0.8;

export function connectionFinding({ bytes, connections, maxConnections }: ServerFacts): Finding {
  const detail = `${connections} of ${maxConnections} connections in use, our database has ${Math.ceil(bytes / 1e6)} MB`;
  const many = connections >= maxConnections * MANY;
  return {
    name: 'database',
    state: many ? 'warning' : 'ok',
    version: null,
    detail,
    mend: many ? 'raise max_connections of PostgreSQL, or run fewer roles' : null,
  };
}

export function schemaFinding({ missing, newer }: { missing: string[]; newer: string[] }): Finding {
  const name = 'schema';
  if (missing.length > 0 && newer.length > 0)
    return {
      name,
      state: 'missing',
      version: null,
      detail: `belongs to a newer release (${newer.at(-1)})`,
      mend: 'install the newer release again',
    };
  if (missing.length > 0)
    return {
      name,
      state: 'missing',
      version: null,
      detail: `${missing.length} changes of the tables are missing (${missing.at(-1)})`,
      mend: 'fetch prepare',
    };
  if (newer.length > 0)
    return {
      name,
      state: 'warning',
      version: null,
      detail: `a newer release has changed the tables (${newer.at(-1)}); this one can use them`,
      mend: 'run the same release everywhere',
    };
  return { name, state: 'ok', version: null, detail: 'the tables are those of this release', mend: null };
}
