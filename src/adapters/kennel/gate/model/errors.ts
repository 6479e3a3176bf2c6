import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { errors } from 'undici';
import type { Protocol } from './routes.ts';

/** An answer of the gate itself. `message` is one or two sentences for people who read the agent's output. */
export interface Refusal {
  status: 400 | 402 | 404 | 413 | 415 | 429 | 502 | 503 | 504;
  message: string;
  /** when a repetition makes sense */
  retryAfterS?: number;
}

const KINDS: Record<Refusal['status'], { anthropic: string; openai: string; gemini: string }> = {
  400: { anthropic: 'invalid_request_error', openai: 'invalid_request_error', gemini: 'INVALID_ARGUMENT' },
  // not 429 as the providers have it, because every agent would retry, and no retry can help
  402: { anthropic: 'billing_error', openai: 'insufficient_quota', gemini: 'FAILED_PRECONDITION' },
  404: { anthropic: 'not_found_error', openai: 'invalid_request_error', gemini: 'NOT_FOUND' },
  413: { anthropic: 'request_too_large', openai: 'invalid_request_error', gemini: 'INVALID_ARGUMENT' },
  415: { anthropic: 'invalid_request_error', openai: 'invalid_request_error', gemini: 'INVALID_ARGUMENT' },
  429: { anthropic: 'rate_limit_error', openai: 'rate_limit_exceeded', gemini: 'RESOURCE_EXHAUSTED' },
  502: { anthropic: 'api_error', openai: 'server_error', gemini: 'INTERNAL' },
  503: { anthropic: 'api_error', openai: 'server_error', gemini: 'UNAVAILABLE' },
  504: { anthropic: 'timeout_error', openai: 'server_error', gemini: 'DEADLINE_EXCEEDED' },
};

/** The body of a refusal, in the form of the protocol's own errors. */
function errorBody(protocol: Protocol | null, { status, message }: Refusal): unknown {
  const kind = KINDS[status];
  if (protocol === 'anthropic') return { type: 'error', error: { type: kind.anthropic, message } };
  if (protocol === 'gemini') return { error: { code: status, message, status: kind.gemini } };
  return { error: { message, type: kind.openai, param: null, code: kind.openai } };
}

/** Answers with a refusal. If an answer has already begun, the connection is cut. */
export function refuse(response: ServerResponse, protocol: Protocol | null, refusal: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = Buffer.from(JSON.stringify(errorBody(protocol, refusal)));
  // the unread rest of a request must not be taken for the next request
  if (refusal.retryAfterS !== undefined) response.setHeader('retry-after', refusal.retryAfterS);
  response.writeHead(refusal.status, {
    'content-type': 'application/json',
    'content-length': body.length,
    connection: 'close',
  });
  response.end(body);
}

/** A request that is larger than the gate takes. The message says the limit. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException | undefined)?.code ?? '');
const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
]);
/** The endpoint has not seen the request, so it cannot have worked on it. */
export const neverArrived = (error: unknown): boolean =>
  NO_CONNECTION.has(codeOf(error)) || codeOf(error).startsWith('ERR_TLS');

/** The text for the agent. Only our own texts, because an error's text may hold an address or worse. */
export function explainFailure(error: unknown, deps: { headersMs: number; log: Logger }): Refusal {
  if (error instanceof TooLarge) return { status: 413, message: error.message };
  if (error instanceof errors.HeadersTimeoutError) {
    return {
      status: 504,
      message: `The model endpoint did not answer within ${Math.round(deps.headersMs / 1000)} seconds.`,
    };
  }
  deps.log.warn({ code: codeOf(error), name: (error as Error).name }, 'a model call failed');
  if (neverArrived(error)) return { status: 502, message: `The model endpoint cannot be reached (${codeOf(error)}).` };
  return {
    status: 502,
    message: `The connection to the model endpoint broke${codeOf(error) ? ` (${codeOf(error)})` : ''}.`,
  };
}
