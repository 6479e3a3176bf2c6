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
      'Bind address of the runtime API if it differs from FETCH_HOST: 0.0.0.0 lets phones of your network reach the page',
    ),
  FETCH_ALLOWED_HOSTS: z
    .string()
    .optional()
    .describe(
      'More host names of the HTTP APIs, comma separated; localhost, the name of this machine and addresses always work',
    ),
  FETCH_RUNTIME_TOKEN: secret().describe('Token of the runtime API; FETCH_HOME/runtime-token when unset'),
  DEEPSEEK_RUNTIME_TOKEN: secret().describe('FETCH_RUNTIME_TOKEN under the name that existing clients use'),
  FETCH_RUNTIME_INSECURE: z
    .stringbool()
    .default(false)
    .describe(
      'The runtime API asks for no token while none is configured, on loopback only. Pages of other origins need one',
    ),
  FETCH_MOBILE: z.stringbool().default(false).describe('The runtime API serves the page at `/mobile`, too'),
  DEEPSEEK_CORS_ORIGINS: z.string().default('').describe('More origins that browsers may call from, comma separated'),
  ADMIN_TOKEN: secret().describe('Token of the status API; FETCH_HOME/admin-token when unset'),
  FETCH_BACKUP_KEY: secret().describe(
    'Passphrase of backups. Keep it somewhere else, too: nothing opens a backup without it',
  ),
  FETCH_BACKUP_FOLDER: z
    .string()
    .min(1)
    .optional()
    .describe('Folder for a backup of each night, best on another disk; none is made while it is unset'),
  FETCH_BACKUP_AT: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 03:30')
    .default('03:30')
    .describe(
      'Time of the nightly backup by the clock of this machine. If the machine was off, it runs at the next start',
    ),
  FETCH_BACKUP_KEEP: z.coerce.number().int().min(1).max(1000).default(7).describe('How many nightly backups are kept'),
  FETCH_CODEC_ORIGINS: z
    .string()
    .default('')
    .describe(
      'Origins of Temporal Web UIs of your own that may ask for decrypted payloads, comma separated: docs/running.md',
    ),
  FETCH_MCP_CONFIG: z
    .string()
    .trim()
    .min(1)
    .optional()
    .describe('File with MCP servers of yours; FETCH_HOME/mcp.json when unset: docs/chat.md'),
  FETCH_MCP_SERVER_TOOLS: live(
    z
      .enum(['read', 'all'])
      .default('read')
      .describe(
        'What programs may call over MCP: what only reads, or everything, which asks you as in a chat: docs/page.md',
      ),
  ),
  FETCH_SEPARATE_PROCESSES: z
    .stringbool()
    .default(false)
    .describe(
      'Gateway, API and kennel run in a process each, so that a crash of one does not stop the others; for 90 MB more',
    ),
  FETCH_METRICS_PORT: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_532)
    .optional()
    .describe('Metrics for Prometheus at this port, path /metrics; other roles have the next ports: docs/running.md'),
  FETCH_METRICS_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address that the metrics bind to. They need no token, and have figures only'),
  FETCH_HEALTH_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('File in which a single role says every five seconds whether it works (`ok`, or what is wrong)'),
  FETCH_COMPOSE_PROFILES: z
    .string()
    .optional()
    .describe('Profiles of docker-compose.yml, which sets it. Without `full` there is no SearXNG'),
} as const;
