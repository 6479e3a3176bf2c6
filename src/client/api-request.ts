import { ApiError } from '../domain/api-error.ts';

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
