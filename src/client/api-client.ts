import type { Displayed } from '../contracts/decision.ts';
import type { EventEnvelope, ItemRecord, ThreadRecord, TurnRecord } from '../contracts/records.ts';
import { ApiError } from '../domain/api-error.ts';
import { serverSentData } from './event-stream.ts';

export interface Server {
  baseUrl: string;
  token: string;
}

/** @throws ApiError for every answer that is not one of success */
export async function request({ baseUrl, token }: Server, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(baseUrl.replace(/(?<!\/)\/+$/, '') + path, { ...init, headers });
  if (response.ok) return response;
  throw new ApiError(response.status, await errorMessage(response));
}

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

/** Waits that can be ended early, all together. */
class Sleepers {
  private readonly sleepers = new Set<() => void>();

  /** Also ends when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.sleepers.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.sleepers.add(done);
      signal?.addEventListener('abort', done);
      if (signal?.aborted) done();
    });
  }

  wake(): void {
    for (const done of [...this.sleepers]) done();
  }
}

/** A question that waits for an answer: payload of `user_input.required`. */
export interface PendingUserInput {
  id: string;
  request: {
    questions: Array<{
      header?: string;
      id: string;
      question: string;
      options?: Array<{ label: string; description?: string }>;
    }>;
  };
}
/** A confirmation that waits for a decision: payload of `approval.required`. */
export interface PendingApproval {
  id: string;
  approval_id: string;
  tool_name: string;
  description: string;
  intent_summary: string | null;
  /** arguments of the call */
  input?: Record<string, unknown>;
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

/** Called for each wait: `attempt` counts from 1, `delayMs` is the time until the next attempt. */
type OnWait = (wait: { attempt: number; delayMs: number; reason: string }) => void;
interface ClientOptions extends Server {
  /** longest wait between two attempts to send a message; ms */
  maxDelayMs?: number;
  /** an event stream that is silent for this long counts as dead; the server sends a keep-alive every 15 s; ms */
  silenceMs?: number;
}
interface SayOptions {
  onWait?: OnWait;
  signal?: AbortSignal;
  displayed?: Displayed[];
  /** ids of files that were uploaded for it */
  files?: readonly string[];
}
type OnState = (state: 'connected' | 'reconnecting') => void;

/** More than the chat shows of the past, because one turn can hold several messages. */
const SHOWN_TURNS = 10;
const FIRST_DELAY_MS = 250;
/** A dropped stream hides what happens now, so it is retried more often than a message. */
const MAX_STREAM_DELAY_MS = 3_000;
/** A message that was not taken by then is sent again. */
const SAY_MS = 30_000;

/** Where a reader of events is. */
interface EventCursor {
  threadId: string;
  /** the last event that the reader has */
  seq: number;
  /** connections in a row that brought nothing */
  attempt: number;
}

export class ApiClient {
  private readonly options: ClientOptions;
  /** woken when the server is reachable again */
  private readonly sleepers = new Sleepers();

  constructor(options: ClientOptions) {
    this.options = options;
  }

  consoleThread(signal?: AbortSignal): Promise<ThreadRecord & { things_to_try?: string[] }> {
    return this.json('/v1/console', { signal });
  }

  /**
   * The end of the thread, with everything that runs or waits for an answer. The screen shows nothing older, so nothing
   * older is fetched.
   */
  detail(threadId: string, signal?: AbortSignal, lastTurns = SHOWN_TURNS): Promise<ThreadDetail> {
    return this.json(`${pathOf(threadId)}?last_turns=${lastTurns}`, { signal });
  }

  /** The bytes of a file that an answer names. */
  async attachment(threadId: string, id: string, signal?: AbortSignal): Promise<Buffer> {
    const response = await request(this.options, `${pathOf(threadId)}/attachments/${encodeURIComponent(id)}`, {
      signal,
    });
    return Buffer.from(await response.arrayBuffer());
  }

  /** A file for the next message of a thread. */
  upload(threadId: string, name: string, data: Buffer, signal?: AbortSignal): Promise<{ id: string }> {
    return this.json(`${pathOf(threadId)}/attachments?name=${encodeURIComponent(name)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(data),
      signal,
    });
  }

  interrupt(threadId: string, turnId: string, signal?: AbortSignal): Promise<TurnRecord> {
    return this.json(`${pathOf(threadId)}/turns/${encodeURIComponent(turnId)}/interrupt`, { method: 'POST', signal });
  }

  /** Resolves when the server has stored the message. Retries with the same key while the server cannot be reached. */
  async say(
    threadId: string,
    text: string,
    idempotencyKey: string,
    { onWait, signal, displayed, files }: SayOptions = {},
  ): Promise<Record<string, unknown>> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.json(`${pathOf(threadId)}/messages`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
          body: JSON.stringify({ text, displayed, attachment_ids: files }),
          // a hanging request is repeated, which is safe with the same key
          signal: AbortSignal.any([AbortSignal.timeout(SAY_MS), ...(signal ? [signal] : [])]),
        });
      } catch (error) {
        if (signal?.aborted || (error instanceof ApiError && !error.passing)) throw error;
        const delayMs = backoff(attempt, this.options.maxDelayMs ?? 60_000);
        onWait?.({ attempt, delayMs, reason: reasonOf(error) });
        await this.sleepers.sleep(delayMs, signal);
      }
    }
  }

  /** Every event after `sinceSeq`, once and in order, until `signal` aborts. Reconnects after the last event seen. */
  async *events(
    threadId: string,
    sinceSeq: number,
    signal: AbortSignal,
    onState?: OnState,
  ): AsyncGenerator<EventEnvelope, void> {
    const cursor: EventCursor = { threadId, seq: sinceSeq, attempt: 1 };
    for (; !signal.aborted; cursor.attempt++) {
      try {
        yield* this.eventsOfConnection(cursor, signal, onState);
      } catch (error) {
        if (error instanceof ApiError && !error.passing && !signal.aborted) throw error;
      }
      if (signal.aborted) return;
      onState?.('reconnecting');
      await this.sleepers.sleep(backoff(Math.max(cursor.attempt, 1), MAX_STREAM_DELAY_MS), signal);
    }
  }

  private async *eventsOfConnection(
    cursor: EventCursor,
    signal: AbortSignal,
    onState?: OnState,
  ): AsyncGenerator<EventEnvelope, void> {
    const connection = new AbortController();
    const stop = () => connection.abort();
    signal.addEventListener('abort', stop);
    const watchdog = setTimeout(stop, this.options.silenceMs ?? 45_000);
    try {
      const path = `${pathOf(cursor.threadId)}/events?since_seq=${cursor.seq}`;
      const response = await request(this.options, path, {
        headers: { accept: 'text/event-stream' },
        signal: connection.signal,
      });
      onState?.('connected');
      this.sleepers.wake();
      for await (const data of serverSentData(response.body!, () => watchdog.refresh())) {
        cursor.attempt = 0;
        const event = JSON.parse(data) as EventEnvelope;
        if (event.seq <= cursor.seq) continue;
        // updated before the yield, because the reader has the event even if the connection drops now
        cursor.seq = event.seq;
        yield event;
      }
    } finally {
      clearTimeout(watchdog);
      signal.removeEventListener('abort', stop);
      connection.abort();
    }
  }

  private async json<T>(path: string, init: RequestInit): Promise<T> {
    return (await (await request(this.options, path, init)).json()) as T;
  }
}

const pathOf = (threadId: string): string => `/v1/threads/${encodeURIComponent(threadId)}`;

const backoff = (attempt: number, max: number): number =>
  Math.min(max, FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 20));
