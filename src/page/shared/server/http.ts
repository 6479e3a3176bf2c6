import { ApiError } from '../../../domain/api-error.ts';
import { texts } from '../../texts.ts';

interface Call {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  body?: unknown;
  /** the same key has one effect, however often it is sent */
  key?: string;
  signal?: AbortSignal;
}

/** One request; what is JSON is parsed. @throws ApiError, TypeError when the server cannot be reached */
export async function call<Answer>(path: string, { method = 'GET', body, key, signal }: Call = {}): Promise<Answer> {
  const raw = body instanceof Blob;
  const response = await fetch(path, {
    method,
    signal,
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': raw ? body.type || 'application/octet-stream' : 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
  });
  if (!response.ok) throw await refusal(response);
  return (await response.json().catch(() => ({}))) as Answer;
}

/** Sends what a person did: the same key each time, and again while the server cannot be reached. */
export async function send<Answer>(
  path: string,
  { attempts = 6, ...given }: Call & { attempts?: number },
): Promise<Answer> {
  const key = given.key ?? crypto.randomUUID?.() ?? `k${Date.now()}${Math.random()}`;
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(path, { method: 'POST', ...given, key });
    } catch (error) {
      if ((error instanceof ApiError && !error.passing) || given.signal?.aborted || attempt >= attempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(8_000, 300 * 2 ** attempt)));
    }
  }
}

export async function refusal(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  return new ApiError(response.status, messageIn(text) || texts.refused(response.status));
}

/** What the server says is JSON, or plain text. */
function messageIn(text: string): string {
  try {
    return (JSON.parse(text) as { error?: { message?: string } }).error?.message ?? '';
  } catch {
    return text.startsWith('<') ? '' : text.slice(0, 500);
  }
}

/** Why something failed, for a person. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof ApiError) return error.status === 401 ? texts.connection.refused : error.message;
  return error instanceof TypeError ? texts.unreachable : String((error as Error)?.message ?? error);
};
