import { z } from 'zod';
import { port, secret } from './shapes.ts';

/** Where an instance lives, how its APIs are reached, and which processes it has. */
export const instanceSettings = {
  FETCH_HOME: z.string().min(1).describe('Where state lives (databases, logs, tokens); mode 0700'),
  FETCH_RUNTIME_PORT: port(7878).describe('Runtime API: /v1, events'),
  FETCH_STATUS_PORT: port(8765).describe('Status API: /api/status, /api/health'),
  FETCH_TEMPORAL_PORT: port(7233).describe('Embedded Temporal server'),
  FETCH_TEMPORAL_UI_PORT: port(8233).describe('Temporal Web UI of the embedded server'),
  FETCH_POSTGRES_PORT: port(7432).describe('Embedded PostgreSQL'),
  FETCH_HOST: z.string().default('127.0.0.1').describe('Address that the HTTP APIs bind to; loopback by default'),
  FETCH_ALLOWED_HOSTS: z
    .string()
    .optional()
    .describe('Further host names of the HTTP APIs, comma separated; localhost, the name of this machine and addresses always work'),
  FETCH_RUNTIME_TOKEN: secret().describe('Bearer token of the runtime API; when unset, one is created in FETCH_HOME/runtime-token'),
  DEEPSEEK_RUNTIME_TOKEN: secret().describe('The same, under the name that existing clients use'),
  DEEPSEEK_CORS_ORIGINS: z.string().default('').describe('More origins that browsers may call from, comma separated'),
  ADMIN_TOKEN: secret().describe('Bearer token of the status API; when unset, one is created in FETCH_HOME/admin-token'),
  FETCH_MCP_CONFIG: z
    .string()
    .trim()
    .min(1)
    .optional()
    .describe('File with the MCP servers to use, in the form of other clients (`mcpServers`); FETCH_HOME/mcp.json when unset: docs/extensions.md'),
  FETCH_SEPARATE_PROCESSES: z
    .stringbool()
    .default(false)
    .describe('Gateway, API and kennel run in a process each, so that a crash of one takes none of the others along. It takes some 90 MB more'),
} as const;
