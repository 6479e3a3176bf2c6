import { z } from 'zod';
import type { Port } from '../http/openapi.ts';

/** What the OpenAPI document says about the runtime API. */
export const runtimePort: Port = {
  title: 'Fetch runtime API',
  description:
    'Threads, turns and their events. `/health` and `/v1/runtime/info` need no token. What is wrong with a path, a query or a body is told as plain text, everything else as JSON. The same Idempotency-Key (or `operation_key` in a JSON body) within an operation and its target has one effect and gives the same answer; with another body it is refused with 422.',
  security: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The runtime token' },
    query: { type: 'apiKey', in: 'query', name: 'token', description: 'For clients that cannot set headers' },
  },
  refusal: z.object({ error: z.object({ message: z.string(), status: z.int() }) }).meta({ id: 'Refusal' }),
  plainTextRefusals: true,
  idempotencyKeys: true,
};
