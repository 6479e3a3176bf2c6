import { z } from 'zod';
import { asksForToken } from '../../http/access/auth.ts';
import { endpoint } from '../shared/endpoint.ts';

const SERVICE = 'deepseek-runtime-api';

/**
 * Features of this server, by the names of later releases of the reference. Unsupported features are listed as `false`,
 * because clients look for the key.
 */
const CAPABILITIES = {
  account_session: false,
  threads: true,
  turns: true,
  turn_steer: true,
  turn_interrupt: true,
  event_replay: true,
  external_tools: false,
  environments: false,
  worker_runtime: false,
  thread_goals: false,
  memory: false,
  mcp_server_management: false,
  skill_lifecycle: false,
  agent_mail: false,
};

export const getHealth = endpoint({
  method: 'GET',
  path: '/health',
  summary: 'Whether the runtime API answers',
  open: true,
  answer: { schema: z.object({ status: z.string(), service: z.string(), mode: z.string() }), what: 'It does.' },
  handle: async () => ({ status: 'ok', service: SERVICE, mode: 'local' }),
});

export const getRuntimeInfo = endpoint({
  method: 'GET',
  path: '/v1/runtime/info',
  summary: 'Where the runtime API listens and what it can do',
  open: true,
  answer: {
    schema: z.object({
      bind_host: z.string(),
      port: z.int(),
      auth_required: z.boolean(),
      version: z.string(),
      service: z.string(),
      runtime_api_version: z.string(),
      transports: z.array(z.string()),
      capabilities: z.record(z.string(), z.boolean()),
      experimental: z.object({ environments: z.boolean() }),
    }),
    what: 'The facts.',
  },
  handle: async ({ ctx }, { config, version }) => ({
    bind_host: config.runtimeHost,
    port: ctx.req.socket.localPort ?? config.FETCH_RUNTIME_PORT,
    auth_required: asksForToken(config),
    version,
    service: SERVICE,
    runtime_api_version: '1.0',
    transports: ['http', 'sse'],
    capabilities: CAPABILITIES,
    experimental: { environments: false },
  }),
});
