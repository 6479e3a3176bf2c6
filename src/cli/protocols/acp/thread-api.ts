import { ApiClient, request, type ThreadDetail } from '../../../client/api-client.ts';
import type { Displayed } from '../../../contracts/decision.ts';
import type { Uploaded } from '../../../contracts/owner.ts';
import type { EventEnvelope, ThreadRecord } from '../../../contracts/records.ts';
import { ApiError } from '../../../domain/api-error.ts';
import type { FoundServer } from '../../setup/background/server.ts';
import type { Prompt } from './prompt.ts';

/** The result of a message. `turn_id`: the turn that it began or belongs to. */
interface Said {
  kind: 'turn' | 'steer' | 'answer' | 'stop' | 'reply' | 'task';
  turn_id: string | null;
}

/** An answer that takes longer is asked for again. */
const REQUEST_MS = 60_000;

/**
 * The runtime API for an editor. Each request has a key, so that a repetition after a lost answer has no second effect.
 */
export class ThreadApi {
  readonly #server: FoundServer;

  constructor(server: FoundServer) {
    this.#server = server;
  }

  createThread(fields: Record<string, unknown>, key: string): Promise<ThreadRecord> {
    return this.#json('POST', '/v1/threads', fields, key);
  }

  threads(limit: number): Promise<ThreadRecord[]> {
    return this.#json('GET', `/v1/threads?limit=${limit}`);
  }

  /** Null when there is no such thread. */
  async detail(threadId: string, lastTurns: number): Promise<ThreadDetail | null> {
    try {
      return await this.#json('GET', `${pathOf(threadId)}?last_turns=${lastTurns}`);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  change(threadId: string, changes: Record<string, unknown>): Promise<ThreadRecord> {
    return this.#json('PATCH', pathOf(threadId), changes);
  }

  /** Uploads the pictures of a message first; a repeated upload is the same file. */
  async say(
    threadId: string,
    { text, quoted, pictures }: Prompt,
    displayed: readonly Displayed[],
    key: string,
  ): Promise<Said> {
    const files = await Promise.all(
      pictures.map(({ data, type }, at) => this.#upload(threadId, data, type, `${key} ${at}`)),
    );
    return await this.#json(
      'POST',
      `${pathOf(threadId)}/messages`,
      { text, quoted, displayed, attachment_ids: files.map(({ id }) => id) },
      key,
    );
  }

  /** False when the turn has ended meanwhile. */
  interrupt(threadId: string, turnId: string): Promise<boolean> {
    return taken(this.#json('POST', `${pathOf(threadId)}/turns/${encodeURIComponent(turnId)}/interrupt`), 409);
  }

  /** False when it was decided elsewhere. */
  decide(approvalId: string, decision: 'allow' | 'deny', remember: boolean): Promise<boolean> {
    return taken(
      this.#json(
        'POST',
        `/v1/approvals/${encodeURIComponent(approvalId)}`,
        { decision, remember },
        `editor ${decision} ${remember}`,
      ),
      404,
    );
  }

  /** False when it was answered elsewhere. */
  answer(threadId: string, inputId: string, value: string): Promise<boolean> {
    const path = `/v1/user-input/${encodeURIComponent(threadId)}/${encodeURIComponent(inputId)}`;
    return taken(this.#json('POST', path, { answers: [{ id: inputId, label: value, value }] }), 404);
  }

  /** Every event after `sinceSeq`, once and in order, until `signal` aborts. */
  async *events(threadId: string, sinceSeq: number, signal: AbortSignal): AsyncGenerator<EventEnvelope, void> {
    yield* new ApiClient(await this.#server.find()).events(threadId, sinceSeq, signal);
  }

  #upload(threadId: string, data: Buffer, type: string, key: string): Promise<Uploaded> {
    const headers = { 'content-type': type, 'idempotency-key': key };
    return this.#request(`${pathOf(threadId)}/attachments`, { method: 'POST', headers, body: new Uint8Array(data) });
  }

  #json<T>(method: string, path: string, body?: unknown, key?: string): Promise<T> {
    const headers = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key && { 'idempotency-key': key }),
    };
    return this.#request(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  }

  async #request<T>(path: string, init: RequestInit): Promise<T> {
    return await this.#server.patiently(
      async (server) =>
        (await (await request(server, path, { ...init, signal: AbortSignal.timeout(REQUEST_MS) })).json()) as T,
    );
  }
}

const pathOf = (threadId: string): string => `/v1/threads/${encodeURIComponent(threadId)}`;

/** False for a refusal with this status. */
async function taken(done: Promise<unknown>, status: number): Promise<boolean> {
  try {
    await done;
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === status) return false;
    throw error;
  }
}
