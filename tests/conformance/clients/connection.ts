import type { z } from 'zod';
import { until } from '../../support/until.ts';
import { type Detail, detailShape, refusal } from './shapes.ts';

interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** What a client needs to speak to the server: its own headers with every request, and fields that must be there. */
export class Connection {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(baseUrl: string, headers: Readonly<Record<string, string>>) {
    this.baseUrl = baseUrl;
    this.headers = headers;
  }

  /**
   * Without `body` there is no content type either. A server that is not there yet has done nothing, so the request is
   * sent again.
   */
  async send(method: string, path: string, body?: unknown, extra: Record<string, string> = {}): Promise<Answer> {
    const headers = { ...this.headers, ...(body !== undefined && { 'Content-Type': 'application/json' }), ...extra };
    const response = await until(`${method} ${path} reaches the server`, async () => {
      try {
        return await fetch(`${this.baseUrl}${path}`, {
          method,
          headers,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
      } catch (error) {
        if ((error as { cause?: { code?: string } }).cause?.code === 'ECONNREFUSED') return null;
        throw error;
      }
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** @throws for another status, and when a field that the client reads is missing */
  async read<T>(shape: z.ZodType<T>, status: number, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.send(method, path, body);
    if (answer.status !== status)
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return shape.parse(answer.body);
  }

  /** The words that a client shows when it is refused. */
  async refused(status: number, method: string, path: string, body?: unknown): Promise<string> {
    const { error } = await this.read(refusal, status, method, path, body);
    if (error.status !== status) throw new Error(`${method} ${path} answered ${status}, and says ${error.status}`);
    return error.message;
  }

  detail(threadId: string): Promise<Detail> {
    return this.read(detailShape, 200, 'GET', `/v1/threads/${threadId}`);
  }
}
