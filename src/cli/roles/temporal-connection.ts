import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from '@temporalio/client';
import { type Config, ConfigError } from '../../config.ts';

/** What a connection with the Temporal server of these settings needs. The embedded one is on loopback and speaks no TLS. */
export type TemporalEndpoint = Required<Pick<ConnectionOptions, 'address'>> & Pick<ConnectionOptions, 'tls'> & { apiKey?: string };

/** The names of the settings are those of Temporal's own clients. @throws ConfigError for a file that cannot be read */
export function temporalEndpoint(config: Config): TemporalEndpoint {
  if (!config.TEMPORAL_ADDRESS) return { address: `127.0.0.1:${config.FETCH_TEMPORAL_PORT}` };
  const apiKey = config.TEMPORAL_API_KEY;
  const ca = read(config, 'TEMPORAL_TLS_SERVER_CA_CERT_PATH');
  const crt = read(config, 'TEMPORAL_TLS_CLIENT_CERT_PATH');
  const key = read(config, 'TEMPORAL_TLS_CLIENT_KEY_PATH');
  if (Boolean(crt) !== Boolean(key)) throw new ConfigError(['TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH belong together: set both']);
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

function read(
  config: Config,
  setting: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH' | 'TEMPORAL_TLS_CLIENT_CERT_PATH' | 'TEMPORAL_TLS_CLIENT_KEY_PATH',
): Buffer | undefined {
  const file = config[setting];
  if (!file) return undefined;
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ConfigError([`${setting}: ${file} cannot be read: ${(error as Error).message}`]);
  }
}
