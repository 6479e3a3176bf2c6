import { z } from 'zod';
import { endpoint } from './endpoint.ts';

export const getHealth = endpoint({
  method: 'GET',
  path: '/health',
  summary: 'Whether the runtime API answers',
  open: true,
  answer: { schema: z.object({ status: z.string(), service: z.string(), mode: z.string() }), what: 'It does.' },
  handle: async () => ({ status: 'ok', service: 'deepseek-runtime-api', mode: 'local' }),
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
      runtime_api_version: z.string(),
      transports: z.array(z.string()),
      capabilities: z.record(z.string(), z.boolean()),
    }),
    what: 'The facts.',
  },
  handle: async ({ ctx }, { config, version }) => ({
    bind_host: config.FETCH_HOST,
    port: ctx.req.socket.localPort ?? config.FETCH_RUNTIME_PORT,
    auth_required: true,
    version,
    runtime_api_version: '1.0',
    transports: ['http', 'sse'],
    capabilities: { threads: true, turns: true, turn_steer: true, turn_interrupt: true, event_replay: true },
  }),
});
