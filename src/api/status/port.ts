import { z } from 'zod';
import type { Port } from '../http/openapi.ts';

/** The status API as its document describes it. */
export const statusPort: Port = {
  title: 'Fetch status API',
  description: 'State and health need no token; what acts on WhatsApp needs the admin token.',
  security: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The admin token' },
    query: { type: 'apiKey', in: 'query', name: 'token', description: 'For an <img>' },
  },
  refusal: z.object({ success: z.literal(false), message: z.string(), error: z.string() }).meta({ id: 'StatusRefusal' }),
  // like state and health: it tells nothing private
  open: true,
};
