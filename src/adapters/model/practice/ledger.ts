import type { ServerResponse } from 'node:http';

/** What became of one request for a completion. */
export interface LedgerEntry {
  /** order of arrival, from 1 */
  n: number;
  /** epoch milliseconds of arrival */
  at: number;
  /** the `x-fetch-request-id` header; empty without one */
  requestId: string;
  model: string;
  /** the last user message */
  user: string;
  step: number;
  /** roles of the messages, tool names offered, size of the body in bytes */
  roles: string[];
  tools: string[];
  bytes: number;
  /** `answered`: the last byte was handed to the socket; `aborted`: the caller went away first */
  state: 'open' | 'answered' | 'aborted' | 'failed';
  /** why the provider refused it */
  refusal?: string;
}

/** Tells the ledger of a request now and when its response has ended. The signal aborts when the connection closes. */
export function follow(
  response: ServerResponse,
  entry: LedgerEntry,
  ledger?: (entry: LedgerEntry) => void,
): AbortSignal {
  const gone = new AbortController();
  const become = (state: LedgerEntry['state']): void => {
    if (entry.state !== 'open') return;
    entry.state = state;
    ledger?.(entry);
  };
  ledger?.(entry);
  response.on('finish', () => become(response.statusCode < 400 ? 'answered' : 'failed'));
  response.on('close', () => {
    become('aborted');
    gone.abort();
  });
  return gone.signal;
}
