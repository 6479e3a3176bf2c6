import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Detail, TestApp } from '../support/app.ts';

/**
 * Longest that one message may take from its first try to its end: far above any recovery, so that only a lost one
 * reaches it.
 */
export const PATIENCE_MS = 150_000;
const RETRY_MS = 100;

/** A client as the contract wants it: it repeats a request with the same Idempotency-Key until it is acknowledged. */
export interface Client {
  /** Rejects on a refusal (4xx), or when nobody acknowledged within the patience. */
  post<T>(path: string, body: unknown, key?: string): Promise<T>;
  detail(threadId: string): Promise<Detail>;
  /** Polls a thread until the condition gives something. */
  watch<T>(what: string, threadId: string, condition: (detail: Detail) => T | null | undefined | false): Promise<T>;
  /** requests that had to be repeated */
  retries(): number;
}

export function createClient(app: Pick<TestApp, 'request'>): Client {
  let retries = 0;
  const persist = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<unknown> => {
    const deadline = Date.now() + PATIENCE_MS;
    for (let reason = ''; ; retries += 1) {
      const answer = await app.request(method, path, body, headers).catch((error: Error) => {
        reason = error.message;
        return null;
      });
      if (answer && answer.status < 300) return answer.body;
      if (answer && answer.status < 500)
        throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      if (answer) reason = `${answer.status} ${JSON.stringify(answer.body)}`;
      if (Date.now() > deadline)
        throw new Error(`${method} ${path} was not acknowledged within ${PATIENCE_MS} ms: ${reason}`);
      await pause(RETRY_MS);
    }
  };
  const detail = (threadId: string): Promise<Detail> => persist('GET', `/v1/threads/${threadId}`) as Promise<Detail>;
  return {
    post: (path, body, key = randomUUID()) => persist('POST', path, body, { 'idempotency-key': key }) as Promise<never>,
    detail,
    async watch(what, threadId, condition) {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const value = condition(await detail(threadId));
        if (value) return value;
        if (Date.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms in vain on ${threadId}: ${what}`);
        await pause(RETRY_MS);
      }
    },
    retries: () => retries,
  };
}
