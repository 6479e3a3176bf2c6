import { readTlsFiles } from '../../../adapters/connections/tls-files.ts';
import { probeTls } from '../../../adapters/connections/tls-probe.ts';
import { type Config, ConfigError } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import {
  type Cause,
  causeOf,
  isLasting,
  type ShownCertificate,
  sentenceOf,
} from '../../../domain/connections/sentences.ts';
import { postgresServer, type Server, temporalServer } from './servers.ts';

/**
 * Why a connection failed, in words of the settings. What the error does not say is found by a handshake of our own.
 */

/** `lasting`: waiting does not help. */
class ConnectionError extends UserError {
  override readonly name = 'ConnectionError';
  readonly lasting: boolean;
  constructor(message: string, { lasting, cause }: { lasting: boolean; cause: unknown }) {
    super(message, { cause });
    this.lasting = lasting;
  }
}

export async function temporalProblem(config: Config, error: unknown): Promise<ConnectionError> {
  const server = temporalServer(config);
  const told = await diagnose(server, error);
  if (told?.lasting) return new ConnectionError(told.text, { lasting: true, cause: error });
  const why =
    told?.text ?? `${(error as Error).message}. Set TEMPORAL_ADDRESS, or use \`fetch start\`, which brings its own.`;
  return new ConnectionError(`No Temporal server answers at ${server.address}: ${why}`, {
    lasting: false,
    cause: error,
  });
}

/** An error that does not come from the connection is returned as it is. */
export async function databaseProblem(
  url: string,
  setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL',
  error: unknown,
): Promise<Error> {
  const server = postgresServer(url, setting);
  const told = server && (await diagnose(server, error));
  if (!told) return error as Error;
  const text = told.lasting ? told.text : `No PostgreSQL answers at ${server.address}: ${told.text}`;
  return new ConnectionError(text, { lasting: told.lasting, cause: error });
}

/** The database of a configuration as a command opens it: past a pooler, if there is one. */
export const directProblem = (config: Config, error: unknown): Promise<Error> =>
  config.DATABASE_DIRECT_URL
    ? databaseProblem(config.DATABASE_DIRECT_URL, 'DATABASE_DIRECT_URL', error)
    : config.DATABASE_URL
      ? databaseProblem(config.DATABASE_URL, 'DATABASE_URL', error)
      : Promise.resolve(error as Error);

async function diagnose(server: Server, error: unknown): Promise<{ text: string; lasting: boolean } | null> {
  if (error instanceof ConnectionError) return { text: error.message, lasting: error.lasting };
  const { material, problems } = readTlsFiles(server.names, server.files);
  if (problems.length > 0) return { text: new ConfigError(problems).message, lasting: true };
  const said = causeOf(error);
  const { cause, shown } =
    said === null || NEEDS_A_LOOK.has(said) ? await look(server, said, material) : { cause: said, shown: null };
  if (cause === null) return null;
  const set = { authority: Boolean(material.ca), certificate: Boolean(material.cert), apiKey: server.apiKey };
  return {
    text: sentenceOf(cause, { names: server.names, address: server.address, expects: server.expects, set, shown }),
    lasting: isLasting(cause),
  };
}

/** Of these more is known when the certificate was seen. */
const NEEDS_A_LOOK: ReadonlySet<Cause> = new Set([
  'server expired',
  'server not yet valid',
  'unknown authority',
  'wrong name',
]);

async function look(
  server: Server,
  said: Cause | null,
  material: object,
): Promise<{ cause: Cause | null; shown: ShownCertificate | null }> {
  const { error, shown } = await probeTls({
    host: server.host,
    port: server.port,
    serverName: server.expects,
    material,
    asks: server.asks,
  });
  const seen = error === null ? null : causeOf(error);
  if (server.tls) return { cause: said ?? seen, shown };
  // spoken to in the clear: a server that shows a certificate wants TLS
  if (shown !== null || /ALERT/.test(String((error as { code?: string } | null)?.code)))
    return { cause: said ?? 'server speaks TLS', shown };
  return { cause: said ?? (seen !== null && !isLasting(seen) ? seen : null), shown };
}
