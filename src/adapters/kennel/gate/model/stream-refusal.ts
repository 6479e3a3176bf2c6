import type { Wire } from './routes.ts';

/**
 * A limit or an overload that an endpoint tells of inside of an answer with status 200: the status that it would have
 * had, and the error.
 */
export interface StreamRefusal {
  status: number;
  error: unknown;
}

// answers from outside: anything may be missing or have another type
type Any = Record<string, unknown>;
const part = (value: unknown): Any => (typeof value === 'object' && value !== null ? (value as Any) : {});

/** The codes and types that providers have, in the place of a status. */
const STATUS_OF: Record<string, number> = {
  rate_limit_error: 429, // Anthropic
  overloaded_error: 529,
  rate_limit_exceeded: 429, // OpenAI
  insufficient_quota: 429,
  server_is_overloaded: 503,
  slow_down: 503,
  RESOURCE_EXHAUSTED: 429, // Gemini
  UNAVAILABLE: 503,
};
/** A number in the place of a code: Gemini, OpenRouter and other proxies. */
const NUMBERS: ReadonlySet<unknown> = new Set([402, 429, 503, 529, '402', '429', '503', '529']);

/** Reads one event of a stream, or a whole answer. Null for everything else, other errors as well. */
export function refusalIn(wire: Wire, event: unknown): StreamRefusal | null {
  // Gemini without `alt=sse` answers with one array
  const events = Array.isArray(event) ? event.map(part) : [part(event)];
  for (const one of events) {
    const error = errorOf(wire, one);
    const status = error && statusOf(error);
    if (status) return { status, error };
  }
  return null;
}

function errorOf(wire: Wire, event: Any): Any | null {
  const { type, error, response } = event;
  if (wire === 'anthropic') return type === 'error' ? part(error) : null;
  if (wire !== 'responses') return error ? part(error) : null;
  if (type === 'response.failed') return part(part(response).error);
  // the error itself, or around it
  return type === 'error' ? part(error ?? event) : null;
}

function statusOf({ code, type, status }: Any): number | null {
  if (NUMBERS.has(code)) return Number(code);
  for (const name of [code, type, status])
    if (typeof name === 'string' && Object.hasOwn(STATUS_OF, name)) return STATUS_OF[name]!;
  return null;
}
