import type { ConnectionOptions } from '@temporalio/client';
import { readTlsFiles, type TlsFiles } from '../../../adapters/connections/tls-files.ts';
import type { ProbeTarget } from '../../../adapters/connections/tls-probe.ts';
import { type Config, ConfigError } from '../../../config.ts';
import { type Names, postgresNames, TEMPORAL_NAMES } from '../../../domain/connections/sentences.ts';

/**
 * What a connection with the Temporal server of these settings needs. The embedded one is on loopback and speaks no
 * TLS.
 */
type TemporalEndpoint = Required<Pick<ConnectionOptions, 'address'>> &
  Pick<ConnectionOptions, 'tls'> & { apiKey?: string };

/** The names of the settings are those of Temporal's own clients. @throws ConfigError for a file that cannot be used */
export function temporalEndpoint(config: Config): TemporalEndpoint {
  if (!config.TEMPORAL_ADDRESS) return { address: `127.0.0.1:${config.FETCH_TEMPORAL_PORT}` };
  const apiKey = config.TEMPORAL_API_KEY;
  const { material, problems } = readTlsFiles(TEMPORAL_NAMES, temporalFiles(config));
  if (problems.length > 0) throw new ConfigError(problems);
  const { ca, cert: crt, key } = material;
  if (Boolean(crt) !== Boolean(key))
    throw new ConfigError(['TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH belong together: set both']);
  const serverName = config.TEMPORAL_TLS_SERVER_NAME;
  // a key or a certificate that would travel in the clear is never meant
  const secured = config.TEMPORAL_TLS ?? Boolean(apiKey || ca || crt || serverName);
  if (!secured && apiKey) throw new ConfigError(['TEMPORAL_API_KEY is never sent without TLS: unset TEMPORAL_TLS']);
  return {
    address: config.TEMPORAL_ADDRESS,
    ...(secured && {
      tls: {
        ...(ca && { serverRootCACertificate: ca }),
        ...(crt && key && { clientCertPair: { crt, key } }),
        ...(serverName && { serverNameOverride: serverName }),
      },
    }),
    ...(apiKey && { apiKey }),
  };
}

const temporalFiles = (config: Config): TlsFiles => ({
  authority: config.TEMPORAL_TLS_SERVER_CA_CERT_PATH,
  certificate: config.TEMPORAL_TLS_CLIENT_CERT_PATH,
  key: config.TEMPORAL_TLS_CLIENT_KEY_PATH,
});

/** A server of somebody else, as the settings describe the way to it. */
export interface Server {
  names: Names;
  /** host and port, as a person would name it */
  address: string;
  host: string;
  port: number;
  /** the name that its certificate must have */
  expects: string;
  tls: boolean;
  files: TlsFiles;
  apiKey: boolean;
  asks: ProbeTarget['asks'];
}

/** @throws ConfigError for a file that cannot be used */
export function temporalServer(config: Config): Server {
  const { address, tls, apiKey } = temporalEndpoint(config);
  const [host, port] = hostAndPort(address, 7233);
  const expects = config.TEMPORAL_TLS_SERVER_NAME ?? host;
  return {
    names: TEMPORAL_NAMES,
    address,
    host,
    port,
    expects,
    tls: Boolean(tls),
    files: temporalFiles(config),
    apiKey: Boolean(apiKey),
    asks: 'grpc',
  };
}

/** Null for a socket of this machine, which has no TLS. */
export function postgresServer(url: string, setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL'): Server | null {
  const parsed = URL.parse(url);
  const query = parsed?.searchParams;
  if (!parsed || !query || !parsed.hostname || query.get('host')?.startsWith('/')) return null;
  const host = parsed.hostname.replace(/^\[(.*)\]$/, '$1');
  const of = (name: string) => query.get(name) ?? undefined;
  const files = { authority: of('sslrootcert'), certificate: of('sslcert'), key: of('sslkey') };
  const mode = of('sslmode');
  const tls =
    mode === undefined
      ? ['true', '1'].includes(of('ssl') ?? '') || Object.values(files).some(Boolean)
      : mode !== 'disable';
  const port = Number(parsed.port || 5432);
  return {
    names: postgresNames(setting),
    address: `${parsed.hostname}:${port}`,
    host,
    port,
    expects: host,
    tls,
    files,
    apiKey: false,
    asks: 'postgres',
  };
}

/** The database that commands and roles use, and the setting that names it. */
export const databaseServers = ({ DATABASE_URL, DATABASE_DIRECT_URL }: Config): Server[] =>
  [
    DATABASE_URL ? postgresServer(DATABASE_URL, 'DATABASE_URL') : null,
    DATABASE_DIRECT_URL ? postgresServer(DATABASE_DIRECT_URL, 'DATABASE_DIRECT_URL') : null,
  ].filter((server) => server !== null);

function hostAndPort(address: string, usual: number): [string, number] {
  const { hostname, port } = URL.parse(`tcp://${address}`) ?? { hostname: address, port: '' };
  return [hostname.replace(/^\[(.*)\]$/, '$1'), Number(port || usual)];
}
