import type { Logger } from 'pino';
import { errors } from 'undici';
import type { Refusal } from './errors.ts';
import { TooLarge } from './request-body.ts';

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
