/** Messages about a connection that failed: what is wrong, and which setting mends it. */

/** The names under which a person set what a connection needs. */
export interface Names {
  server: 'Temporal server' | 'PostgreSQL server';
  address: string;
  authority: string;
  certificate: string;
  key: string;
  /** says which name the certificate has; null: there is no such setting */
  serverName: string | null;
  tlsOn: string;
  tlsOff: string;
}

export const TEMPORAL_NAMES: Names = {
  server: 'Temporal server',
  address: 'TEMPORAL_ADDRESS',
  authority: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  certificate: 'TEMPORAL_TLS_CLIENT_CERT_PATH',
  key: 'TEMPORAL_TLS_CLIENT_KEY_PATH',
  serverName: 'TEMPORAL_TLS_SERVER_NAME',
  tlsOn: 'TEMPORAL_TLS=true',
  tlsOff: 'TEMPORAL_TLS=false, and unset the other settings TEMPORAL_TLS_',
};

export const postgresNames = (setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL'): Names => ({
  server: 'PostgreSQL server',
  address: setting,
  authority: `sslrootcert of ${setting}`,
  certificate: `sslcert of ${setting}`,
  key: `sslkey of ${setting}`,
  serverName: null,
  tlsOn: `sslmode=verify-full in ${setting}`,
  tlsOff: `sslmode=disable in ${setting}`,
});

/** What a server shows of itself. */
export interface ShownCertificate {
  subject: string;
  issuer: string;
  /** names that it is for */
  names: string[];
  from: Date;
  until: Date;
}

/** A connection that was tried. */
export interface Tried {
  names: Names;
  /** host and port */
  address: string;
  /** the name that the certificate must have */
  expects: string;
  /** the settings that are set */
  set: { authority: boolean; certificate: boolean; apiKey: boolean };
  /** null: none was seen */
  shown: ShownCertificate | null;
}

const day = (date: Date): string => date.toISOString().slice(0, 10);
const at = ({ names, address }: Tried): string => `The ${names.server} at ${address}`;

/**
 * Why a connection with a server failed, as far as an error says so. Pure: from codes and words of Node, OpenSSL,
 * PostgreSQL and gRPC.
 */

export type Cause =
  | 'refused'
  | 'unknown host'
  | 'silent'
  | 'server expired'
  | 'server not yet valid'
  | 'unknown authority'
  | 'wrong name'
  | 'server speaks TLS'
  | 'server speaks no TLS'
  | 'client certificate missing'
  | 'client certificate refused'
  | 'client certificate expired'
  | 'API key refused'
  | 'password refused'
  | 'no database';

/** A server that looks at our certificate after the handshake may end the connection without a word. */
export const CLOSED_AFTER_HANDSHAKE = 'ERR_CLOSED_AFTER_HANDSHAKE';

const CODES: Readonly<Record<string, Cause>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'unknown host',
  ETIMEDOUT: 'silent',
  EHOSTUNREACH: 'silent',
  ENETUNREACH: 'silent',
  CERT_HAS_EXPIRED: 'server expired',
  CERT_NOT_YET_VALID: 'server not yet valid',
  UNABLE_TO_GET_ISSUER_CERT: 'unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'unknown authority',
  CERT_SIGNATURE_FAILURE: 'unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'wrong name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'server speaks no TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'server speaks no TLS',
  ERR_SSL_HTTP_REQUEST: 'server speaks no TLS',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'client certificate missing',
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'client certificate refused',
  [CLOSED_AFTER_HANDSHAKE]: 'client certificate refused',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'client certificate refused',
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: 'client certificate refused',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: 'client certificate refused',
  ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE: 'client certificate refused',
  ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR: 'client certificate refused',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED: 'client certificate refused',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: 'client certificate expired',
  // PostgreSQL
  '28P01': 'password refused',
  '3D000': 'no database',
};

/** PostgreSQL says with one code that it refuses somebody, and with words why. */
const WORDS: ReadonlyArray<readonly [words: readonly string[], cause: Cause]> = [
  [['server does not support SSL'], 'server speaks no TLS'],
  [['no pg_hba.conf entry', 'no encryption'], 'server speaks TLS'],
  [['requires a valid client certificate'], 'client certificate missing'],
  [['certificate authentication failed'], 'client certificate refused'],
];

/** gRPC status codes with which a server refuses who asks */
const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

/** Null: the error says nothing that could be told in better words. */
export function causeOf(error: unknown): Cause | null {
  const {
    code,
    message = '',
    errors,
    cause,
  } = (error ?? {}) as { code?: string | number; message?: string; errors?: unknown[]; cause?: unknown };
  // several addresses of one name
  for (const each of errors ?? []) {
    const found = causeOf(each);
    if (found) return found;
  }
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED) return 'API key refused';
  const named =
    typeof code === 'string' && Object.hasOwn(CODES, code)
      ? CODES[code]!
      : (WORDS.find(([words]) => words.every((each) => message.includes(each)))?.[1] ?? null);
  return named ?? (cause === undefined ? null : causeOf(cause));
}

/** Waiting does not mend it: a setting, a certificate or a key is wrong. */
export const isLasting = (cause: Cause): boolean =>
  cause !== 'refused' && cause !== 'silent' && cause !== 'unknown host';

const SENTENCES: Readonly<Record<Cause, (tried: Tried) => string>> = {
  refused: ({ names, address }) =>
    `Nothing listens at ${address} (${names.address}). Start the ${names.server}, or correct the address.`,
  'unknown host': ({ names, address }) =>
    `There is no host with the name in ${address} (${names.address}). Correct the address, or the DNS of this machine.`,
  silent: ({ names, address }) =>
    `Nothing answers at ${address} (${names.address}). A firewall or a network is between, or the address is another one.`,
  'server expired': (tried) =>
    `${at(tried)} shows a certificate that expired${tried.shown ? ` on ${day(tried.shown.until)}` : ''}. Renew it at the server. If it is new there, check the clock of this machine.`,
  'server not yet valid': (tried) =>
    `${at(tried)} shows a certificate that is not valid yet${tried.shown ? ` (from ${day(tried.shown.from)})` : ''}. Check the clocks of this machine and of the server.`,
  'unknown authority': (tried) => {
    const by = tried.shown ? ` by "${tried.shown.issuer}"` : '';
    return tried.set.authority
      ? `${at(tried)} shows a certificate${by}, whom the file of ${tried.names.authority} does not vouch for. Put the certificate of that authority into the file.`
      : `${at(tried)} shows a certificate${by}, whom this machine does not know. Name a file with the certificate of that authority: ${tried.names.authority}.`;
  },
  'wrong name': (tried) => {
    const { names, shown, expects } = tried;
    const for_ = shown
      ? `is for ${shown.names.length > 0 ? shown.names.join(', ') : `"${shown.subject}" and has no name (subjectAltName)`}`
      : 'is for another name';
    const first = shown?.names[0];
    return `${at(tried)} shows a certificate that ${for_}, and not for ${expects}. Use such a name in ${names.address}${names.serverName && first ? `, or set ${names.serverName}=${first}` : ''}.`;
  },
  'server speaks TLS': (tried) => `${at(tried)} takes only connections with TLS. Set ${tried.names.tlsOn}.`,
  'server speaks no TLS': (tried) =>
    `${at(tried)} speaks no TLS. Correct ${tried.names.address}, turn TLS on at the server, or set ${tried.names.tlsOff}.`,
  'client certificate missing': (tried) =>
    `${at(tried)} wants a certificate of ours. Set ${tried.names.certificate} and ${tried.names.key}.`,
  'client certificate refused': (tried) =>
    tried.set.certificate
      ? `${at(tried)} refuses the certificate of ${tried.names.certificate}: its authority or its name is not one that the server takes. Ask for one at those who run the server.`
      : SENTENCES['client certificate missing'](tried),
  'client certificate expired': (tried) =>
    `${at(tried)} refuses the certificate of ${tried.names.certificate}: it has expired. Renew it.`,
  'API key refused': (tried) =>
    tried.set.apiKey
      ? `${at(tried)} refuses TEMPORAL_API_KEY. Check whether it has expired, and whether it is for the namespace of TEMPORAL_NAMESPACE.`
      : `${at(tried)} does not let us in. It may want an API key: set TEMPORAL_API_KEY.`,
  'password refused': (tried) =>
    `${at(tried)} refuses the user or the password of ${tried.names.address}. Correct them there, or at the server.`,
  'no database': (tried) =>
    `${at(tried)} has no database of the name in ${tried.names.address}. Make it, or correct the name.`,
};

export const sentenceOf = (cause: Cause, tried: Tried): string => SENTENCES[cause](tried);

/** What is wrong with a file that a setting names. */
export type FileProblem = 'missing' | 'unreadable' | 'no certificate' | 'no key' | 'not its key' | 'expired' | 'system';

const FILE_SENTENCES: Readonly<Record<FileProblem, (setting: string, file: string) => string>> = {
  missing: (setting, file) => `${setting}: there is no file ${file}. Put it there, or correct the setting.`,
  unreadable: (setting, file) =>
    `${setting}: ${file} cannot be read by this user. Give it the right to, or put a copy where it has.`,
  'no certificate': (setting, file) =>
    `${setting}: ${file} has no certificate in PEM form (-----BEGIN CERTIFICATE-----).`,
  'no key': (setting, file) => `${setting}: ${file} has no private key in PEM form that opens without a passphrase.`,
  'not its key': (setting, file) =>
    `${setting}: the key in ${file} does not belong to the certificate. Name the two files that were made together.`,
  expired: (setting, file) => `${setting}: the certificate in ${file} has expired. Renew it.`,
  system: (setting) =>
    `${setting}: the value system is not known here. Leave sslrootcert out: the authorities of this machine count then.`,
};

export const fileSentence = (problem: FileProblem, setting: string, file: string): string =>
  FILE_SENTENCES[problem](setting, file);
