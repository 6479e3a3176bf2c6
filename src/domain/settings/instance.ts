import { z } from 'zod';
import { live, port, secret } from './shapes.ts';

/** Where an instance lives, how its APIs are reached, and which processes it has. */
export const instanceSettings = {
  FETCH_HOME: z.string().min(1).describe('Where state lives (databases, logs, tokens); mode 0700'),
  FETCH_RUNTIME_PORT: port(7878).describe('Runtime API: /v1, events'),
  FETCH_STATUS_PORT: port(8765).describe('Status API: /api/status, /api/health'),
  FETCH_TEMPORAL_PORT: port(7233).describe('Embedded Temporal server'),
  FETCH_TEMPORAL_UI_PORT: port(8233).describe(
    'Temporal Web UI: that of the embedded server, or that of FETCH_TEMPORAL_UI_URL',
  ),
  FETCH_POSTGRES_PORT: port(7432).describe('Embedded PostgreSQL'),
  FETCH_HOST: z.string().default('127.0.0.1').describe('Address that the HTTP APIs bind to; loopback by default'),
  FETCH_RUNTIME_HOST: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Address of the runtime API alone, where it is not FETCH_HOST: 0.0.0.0 lets phones of your network reach the page, and not the status API',
    ),
  FETCH_ALLOWED_HOSTS: z
    .string()
    .optional()
    .describe(
      'Further host names of the HTTP APIs, comma separated; localhost, the name of this machine and addresses always work',
    ),
  FETCH_RUNTIME_TOKEN: secret().describe(
    'Bearer token of the runtime API; when unset, one is created in FETCH_HOME/runtime-token',
  ),
  DEEPSEEK_RUNTIME_TOKEN: secret().describe('The same, under the name that existing clients use'),
  FETCH_RUNTIME_INSECURE: z
    .stringbool()
    .default(false)
    .describe(
      'The runtime API asks for no token while none is configured; on a loopback address only. Pages of other origins still need one',
    ),
  FETCH_MOBILE: z.stringbool().default(false).describe('The runtime API serves the page at `/mobile`, too'),
  DEEPSEEK_CORS_ORIGINS: z.string().default('').describe('More origins that browsers may call from, comma separated'),
  ADMIN_TOKEN: secret().describe(
    'Bearer token of the status API; when unset, one is created in FETCH_HOME/admin-token',
  ),
  FETCH_BACKUP_KEY: secret().describe(
    'Passphrase that encrypts what `fetch backup` writes. Keep it somewhere else, too: nothing opens a backup without it',
  ),
  FETCH_BACKUP_FOLDER: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder in which a running instance keeps a backup of each night, best on another disk. Nothing is written while it is unset',
    ),
  FETCH_BACKUP_AT: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 03:30')
    .default('03:30')
    .describe('When, in the time of this machine. A night that the machine slept through is made up for'),
  FETCH_BACKUP_KEEP: z.coerce.number().int().min(1).max(1000).default(7).describe('How many of them are kept'),
  FETCH_CODEC_ORIGINS: z
    .string()
    .default('')
    .describe(
      'Origins of Temporal Web UIs of your own that may ask the status API for decrypted payloads, comma separated: docs/operations.md',
    ),
  FETCH_MCP_CONFIG: z
    .string()
    .trim()
    .min(1)
    .optional()
    .describe(
      'File with the MCP servers to use, in the form of other clients (`mcpServers`); FETCH_HOME/mcp.json when unset: docs/extensions.md',
    ),
  FETCH_MCP_SERVER_TOOLS: live(
    z
      .enum(['read', 'all'])
      .default('read')
      .describe(
        'What programs may call over MCP (`fetch mcp-server`, /mcp): what only reads, or everything, which then asks you as in a chat: docs/editors.md',
      ),
  ),
  FETCH_SEPARATE_PROCESSES: z
    .stringbool()
    .default(false)
    .describe(
      'Gateway, API and kennel run in a process each, so that a crash of one takes none of the others along. It takes some 90 MB more',
    ),
  FETCH_METRICS_PORT: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_532)
    .optional()
    .describe(
      'Metrics for Prometheus at this port, path /metrics; a worker has the next port, an api alone the one after it, a kennel alone the third: docs/monitoring.md',
    ),
  FETCH_METRICS_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address that the metrics bind to. They need no token, and have figures only'),
  FETCH_HEALTH_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'For single roles in containers: a file in which the process says every five seconds whether it works (`ok`, or what is wrong)',
    ),
  FETCH_COMPOSE_PROFILES: z
    .string()
    .optional()
    .describe(
      'Set by docker-compose.yml: its profiles. Without `full` it runs no SearXNG, and web_search says that searching is not set up',
    ),
} as const;
