import { z } from 'zod';
import { secret } from './shapes.ts';

/** The servers that Fetch needs. */
export const serversSettings = {
  TEMPORAL_ADDRESS: z
    .string()
    .trim()
    .min(1)
    .optional()
    .describe('Use this Temporal server and start none: docs/server.md'),
  TEMPORAL_NAMESPACE: z.string().trim().min(1).default('default').describe('Temporal namespace'),
  TEMPORAL_API_KEY: secret().describe('API key of TEMPORAL_ADDRESS, for example of Temporal Cloud; sent only over TLS'),
  TEMPORAL_TLS: z
    .stringbool()
    .optional()
    .describe('Use TLS with TEMPORAL_ADDRESS; automatic with an API key or any of the settings below'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: z
    .string()
    .min(1)
    .optional()
    .describe('File with the root certificates of the Temporal server; those of the system when unset'),
  TEMPORAL_TLS_CLIENT_CERT_PATH: z
    .string()
    .min(1)
    .optional()
    .describe('File with our client certificate for the Temporal server'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: z.string().min(1).optional().describe('File with its key'),
  TEMPORAL_TLS_SERVER_NAME: z
    .string()
    .min(1)
    .optional()
    .describe('Name in the certificate of the Temporal server, when it differs from the address'),
  FETCH_TEMPORAL_UI_URL: z
    .url({ protocol: /^http$/, error: 'must be an http address such as http://127.0.0.1:8080' })
    .refine((url) => URL.parse(url)?.pathname === '/', 'must have no path')
    .optional()
    .describe(
      'Web UI of the Temporal server at TEMPORAL_ADDRESS. FETCH_TEMPORAL_UI_PORT then is its login proxy, which decrypts: docs/running.md',
    ),
  FETCH_PAYLOAD_KEYS: z
    .string()
    .trim()
    .regex(
      /^(off|[0-9a-fA-F]{64}(\s*,\s*[0-9a-fA-F]{64})*)$/,
      'must be keys of 64 hex digits, separated by commas, or off',
    )
    .optional()
    .meta({ secret: true })
    .describe(
      'Keys that encrypt what Temporal stores, newest first, the same on every machine; FETCH_HOME/payload-keys when unset. `off` encrypts nothing more',
    ),
  FETCH_BUILD_ID: z
    .string()
    .trim()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$/, 'must be letters, digits, dots, hyphens and underscores')
    .optional()
    .describe(
      'Build of a `fetch worker`, where builds run side by side. It gets no work before `fetch deploy current`',
    ),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .meta({ hasPassword: true })
    .describe('Use this PostgreSQL and start none'),
  DATABASE_DIRECT_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .meta({ hasPassword: true })
    .describe('The database itself, when DATABASE_URL leads to a pooler in transaction mode such as PgBouncer'),
  FETCH_PREPARE_STATEMENTS: z
    .stringbool()
    .default(true)
    .describe('`false` prepares no statements: for a pooler that gives each transaction another connection'),
} as const;
