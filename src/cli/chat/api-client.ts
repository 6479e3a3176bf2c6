import type { EventEnvelope, ItemRecord, ThreadRecord, TurnRecord } from '../../contracts/records.ts';
import type { Displayed } from '../../intake/intake.ts';
import { serverSentData } from './api-client-sse.ts';

/** A question that waits for an answer: payload of `user_input.required`. */
export interface PendingUserInput {
  id: string;
  request: { questions: Array<{ header?: string; id: string; question: string; options?: Array<{ label: string; description?: string }> }> };
}
/** A confirmation that waits for a decision: payload of `approval.required`. */
export interface PendingApproval {
  id: string;
  approval_id: string;
  tool_name: string;
  description: string;
  intent_summary: string | null;
  /** what it is decided by, as much as is shown at first, and how many characters follow */
  evidence?: string;
  evidence_rest?: number;
}
export interface ThreadDetail {
  thread: ThreadRecord;
  turns: TurnRecord[];
  items: ItemRecord[];
  latest_seq: number;
  pending_approvals?: PendingApproval[];
  pending_user_inputs?: PendingUserInput[];
}

/** The server refused. `status` is the HTTP status; `message` is the server's own sentence. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
  }
  /** whether the same request may succeed later */
  get passing(): boolean {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }
}

/** Called for each wait: `attempt` counts from 1, `delayMs` is the time until the next attempt. */
export type OnWait = (wait: { attempt: number; delayMs: number; reason: string }) => void;
export interface ClientOptions {
  baseUrl: string;
  token: string;
  /** longest wait between two attempts to send a message; ms */
  maxDelayMs?: number;
  /** an event stream that is silent for this long counts as dead; the server sends a keep-alive every 15 s; ms */
  silenceMs?: number;
}
export interface ApiClient {
  consoleThread(signal?: AbortSignal): Promise<ThreadRecord & { things_to_try?: string[] }>;
  /** the end of the thread, with everything that runs or waits for an answer */
  detail(threadId: string, signal?: AbortSignal, lastTurns?: number): Promise<ThreadDetail>;
  /** Resolves when the server has stored the message. Retries with the same key while the server cannot be reached. */
  say(
    threadId: string,
    text: string,
    idempotencyKey: string,
    options?: { onWait?: OnWait; signal?: AbortSignal; displayed?: Displayed[] },
  ): Promise<Record<string, unknown>>;
  interrupt(threadId: string, turnId: string, signal?: AbortSignal): Promise<TurnRecord>;
  /** Every event after `sinceSeq`, once and in order, until `signal` aborts. Reconnects after the last event seen. */
  events(threadId: string, sinceSeq: number, signal: AbortSignal, onState?: (state: 'connected' | 'reconnecting') => void): AsyncGenerator<EventEnvelope, void>;
}

/** More than the chat shows of the past, because one turn can hold several messages. */
const SHOWN_TURNS = 10;
const FIRST_DELAY_MS = 250;
/** A dropped stream hides what happens now, so it is retried more often than a message. */
const MAX_STREAM_DELAY_MS = 3_000;

export function apiClient(options: ClientOptions): ApiClient {
  const base = options.baseUrl.replace(/(?<!\/)\/+$/, '');
  const maxDelayMs = options.maxDelayMs ?? 60_000;
  /** waits that end early when the server is reachable again */
  const sleepers = new Set<() => void>();

  async function open(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${options.token}`, ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(base + path, { ...init, headers });
    if (response.ok) return response;
    throw new ApiError(response.status, await errorMessage(response));
  }
  const json = async <T>(path: string, init?: RequestInit): Promise<T> => (await open(path, init)).json() as Promise<T>;
  const thread = (id: string) => `/v1/threads/${encodeURIComponent(id)}`;

  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        sleepers.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      sleepers.add(done);
      signal?.addEventListener('abort', done);
      if (signal?.aborted) done();
    });

  return {
    consoleThread: (signal) => json<ThreadRecord & { things_to_try?: string[] }>('/v1/console', { signal }),
    // the screen shows only the end of a thread, so nothing older is fetched
    detail: (id, signal, lastTurns = SHOWN_TURNS) => json<ThreadDetail>(`${thread(id)}?last_turns=${lastTurns}`, { signal }),
    interrupt: (id, turnId, signal) => json<TurnRecord>(`${thread(id)}/turns/${encodeURIComponent(turnId)}/interrupt`, { method: 'POST', signal }),

    async say(id, text, key, { onWait, signal, displayed } = {}) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await json<Record<string, unknown>>(`${thread(id)}/messages`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'idempotency-key': key },
            body: JSON.stringify({ text, displayed }),
            // a hanging request is repeated, which is safe with the same key
            signal: AbortSignal.any([AbortSignal.timeout(30_000), ...(signal ? [signal] : [])]),
          });
        } catch (error) {
          if (signal?.aborted || (error instanceof ApiError && !error.passing)) throw error;
          const delayMs = backoff(attempt, maxDelayMs);
          onWait?.({ attempt, delayMs, reason: reasonOf(error) });
          await sleep(delayMs, signal);
        }
      }
    },

    async *events(id, sinceSeq, signal, onState) {
      let last = sinceSeq;
      for (let attempt = 1; !signal.aborted; attempt++) {
        const connection = new AbortController();
        const stop = () => connection.abort();
        signal.addEventListener('abort', stop);
        const watchdog = setTimeout(stop, options.silenceMs ?? 45_000);
        try {
          const response = await open(`${thread(id)}/events?since_seq=${last}`, { headers: { accept: 'text/event-stream' }, signal: connection.signal });
          onState?.('connected');
          for (const wake of [...sleepers]) wake();
          for await (const data of serverSentData(response.body!, () => watchdog.refresh())) {
            attempt = 0;
            const event = JSON.parse(data) as EventEnvelope;
            if (event.seq <= last) continue;
            // updated before the yield, because the reader has the event even if the connection drops now
            last = event.seq;
            yield event;
          }
        } catch (error) {
          if (error instanceof ApiError && !error.passing && !signal.aborted) throw error;
        } finally {
          clearTimeout(watchdog);
          signal.removeEventListener('abort', stop);
          connection.abort();
        }
        if (signal.aborted) return;
        onState?.('reconnecting');
        await sleep(backoff(Math.max(attempt, 1), MAX_STREAM_DELAY_MS), signal);
      }
    },
  };
}

const backoff = (attempt: number, max: number): number => Math.min(max, FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 20));

/** One sentence about why a request failed, from the innermost cause if needed. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return `${error.message} (HTTP ${error.status})`;
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'no answer in time';
  const cause = error.cause as { code?: string; message?: string } | undefined;
  if (cause?.code === 'ECONNREFUSED') return 'nothing listens there';
  return cause?.message || cause?.code || error.message;
}

async function errorMessage(response: Response): Promise<string> {
  const body = await response.text().catch(() => '');
  try {
    const message = (JSON.parse(body) as { error?: { message?: string } }).error?.message;
    if (message) return message;
  } catch {
    // not JSON: errors of the HTTP layer are plain text
  }
  return body.trim().slice(0, 300) || response.statusText || 'the request failed';
}
