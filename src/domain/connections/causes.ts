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
