import type { ConnectionOptions } from '@temporalio/client';
import { readTlsFiles, type TlsFiles } from '../../../adapters/connections/tls-files.ts';
import { type Config, ConfigError } from '../../../config.ts';
import { TEMPORAL_NAMES } from '../../../domain/connections/sentences.ts';

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

export const temporalFiles = (config: Config): TlsFiles => ({
  authority: config.TEMPORAL_TLS_SERVER_CA_CERT_PATH,
  certificate: config.TEMPORAL_TLS_CLIENT_CERT_PATH,
  key: config.TEMPORAL_TLS_CLIENT_KEY_PATH,
});
