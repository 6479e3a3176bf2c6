import { z } from 'zod';
import type { Port } from '../http/openapi.ts';

/** What the OpenAPI document says about the status API. */
export const statusPort: Port = {
  title: 'Fetch status API',
  description: 'State and health need no token; sessions, settings and what acts on WhatsApp need the admin token.',
  security: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The admin token' },
    query: { type: 'apiKey', in: 'query', name: 'token', description: 'For an <img>' },
  },
  refusal: z
    .object({ success: z.literal(false), message: z.string(), error: z.string() })
    .meta({ id: 'StatusRefusal' }),
  wrongToken: 403,
  // open like state and health, because it holds nothing private
  open: true,
};
