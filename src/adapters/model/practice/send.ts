import type { ServerResponse } from 'node:http';

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function sendError(response: ServerResponse, status: number, message: string, retryAfter?: number): void {
  sendJson(
    response,
    status,
    { error: { message, type: 'practice', code: null } },
    retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  );
}
