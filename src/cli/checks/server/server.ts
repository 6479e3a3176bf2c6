import { Client, Connection } from '@temporalio/client';
import type { Config } from '../../../config.ts';
import { AGENT_QUEUE, BACKGROUND_QUEUE, gatewayQueue, kennelQueue } from '../../../contracts/ids.ts';
import { readServerFacts, type ServerFacts } from '../../../store/home/operations/server-facts.ts';
import { type KennelHost, listHosts } from '../../../store/kennel/hosts/hosts.ts';
import { type Db, openStore } from '../../../store/postgres/database.ts';
import { schemaState } from '../../../store/schema/migrations.ts';
import { readAccount } from '../../../store/whatsapp/account.ts';
import { type QueueStats, queueStats } from '../../instance/connections/queue-stats.ts';
import { temporalEndpoint } from '../../instance/connections/temporal-endpoint.ts';
import type { Finding } from '../finding.ts';
import { certificateFindings, shownCertificateFindings } from './certificates.ts';
import { connectionFinding, schemaFinding } from './database-server.ts';
import { namespaceFindings } from './namespace.ts';
import { queueFindings } from './queues.ts';
import { roleFindings } from './server-roles.ts';

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

/** What is known of those who should work. */
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
