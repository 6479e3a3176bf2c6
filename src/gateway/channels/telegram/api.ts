import { Agent, type Dispatcher, FormData, request } from 'undici';
import type { Config } from '../../../config.ts';
import { english } from '../../../domain/texts/say.ts';

/** Longest wait for the answer to a call. A slow answer is often that of a message which was delivered. */
const CALL_MS = 60_000;
const CONNECT_MS = 10_000;
/** Telegram's limit for files that a bot loads. */
export const MOST_BYTES = 20 * 1024 * 1024;

/** The failure of a call. */
type Failure =
  /** Telegram said no: nothing was done */
  | {
      kind: 'refused';
      code: number;
      description: string;
      /** after how many seconds it may be tried again */
      retryAfter?: number;
      /** the id that the group has now */
      movedTo?: number;
    }
  /** the request never reached Telegram */
  | { kind: 'not sent' }
  /** Telegram may have carried it out */
  | { kind: 'unknown' };

/** The longest that a poll waits, whatever Telegram asks for: a person may have mended it meanwhile. */
const LONGEST_PAUSE_S = 15 * 60;

/** How long Telegram wants to be left alone, in ms; null when it did not ask for a pause. */
export const pauseAfter = (failure: Failure | null): number | null =>
  failure?.kind === 'refused' && failure.code === 429
    ? Math.min(Math.max(failure.retryAfter ?? 5, 1), LONGEST_PAUSE_S) * 1000
    : null;

/** Why the bot does not receive, for people. `failure` null: it is none of Telegram's. */
export function problemOf(failure: Failure | null): string {
  if (!failure) return english('link.tgNotStored');
  if (failure.kind !== 'refused') return english('link.tgAway');
  if (failure.code === 401 || failure.code === 404) return english('link.tgToken');
  if (failure.code === 429) return english('link.tgPause');
  if (failure.code !== 409) return english('link.tgRefuses', { words: failure.description });
  return /webhook/i.test(failure.description) ? english('link.tgWebhook') : english('link.tgOther');
}

/** Neither the message nor a cause of it has the address of the call, because the token is a part of it. */
export class TelegramError extends Error {
  readonly failure: Failure;
  constructor(method: string, failure: Failure, why: string) {
    super(`Telegram's ${method}: ${why}`);
    this.name = 'TelegramError';
    this.failure = failure;
  }
}

interface Answer {
  ok?: unknown;
  result?: unknown;
  error_code?: unknown;
  description?: unknown;
  parameters?: { retry_after?: unknown; migrate_to_chat_id?: unknown };
}

/** A file to be uploaded with a call. */
export interface Upload {
  field: string;
  name: string;
  mime: string;
  data: Buffer;
}

/** The Bot API. No call is repeated here: the outbox decides what may be sent again. */
export class TelegramApi {
  /** what the token belongs to, from its first part */
  readonly botId: number;
  private readonly root: string;
  private readonly token: string;
  /** A kept connection that the server has just closed would make the outcome of a send unknown, so none is kept. */
  private readonly once = new Agent({ pipelining: 0, connect: { timeout: CONNECT_MS } });
  private readonly polling = new Agent({ connections: 1, connect: { timeout: CONNECT_MS } });

  constructor({ FETCH_TELEGRAM_API }: Pick<Config, 'FETCH_TELEGRAM_API'>, token: string) {
    this.root = FETCH_TELEGRAM_API.replace(/\/$/, '');
    this.token = token;
    this.botId = Number(token.split(':')[0]);
  }

  /** @throws TelegramError */
  async call<Result>(method: string, params: object = {}, upload?: Upload): Promise<Result> {
    const sent = upload ? multipart(params, upload) : asJson(params);
    return (await this.answer(method, sent, this.once, AbortSignal.timeout(CALL_MS))) as Result;
  }

  /**
   * Waits for updates from `offset` on, which confirms all before it, for ever. @throws TelegramError, or the reason of
   * the signal
   */
  async poll<Update>(params: { offset?: number; timeout: number; allowed_updates: string[] }, signal: AbortSignal) {
    // a dead connection gives no error
    const deadline = AbortSignal.timeout((params.timeout + 10) * 1000);
    const ends = AbortSignal.any([signal, deadline]);
    const updates = await this.answer('getUpdates', asJson(params), this.polling, ends);
    if (!Array.isArray(updates))
      throw new TelegramError('getUpdates', { kind: 'unknown' }, 'answered with something else than updates');
    return updates as Update[];
  }

  /** The bytes of a file. @throws TelegramError */
  async file(fileId: string, signal: AbortSignal): Promise<Buffer> {
    const { file_path: path } = await this.call<{ file_path?: string }>('getFile', { file_id: fileId });
    if (!path) throw new TelegramError('getFile', { kind: 'unknown' }, 'names no file');
    const ends = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
    const where = `${this.root}/file/bot${this.token}/${path.split('/').map(encodeURIComponent).join('/')}`;
    try {
      const { statusCode, body } = await request(where, { dispatcher: this.once, signal: ends });
      if (statusCode !== 200) {
        await body.dump();
        throw new TelegramError('file', { kind: 'unknown' }, `answered with status ${statusCode}`);
      }
      const parts: Buffer[] = [];
      let size = 0;
      for await (const part of body) {
        size += (part as Buffer).length;
        if (size > MOST_BYTES)
          throw new TelegramError('file', { kind: 'refused', code: 400, description: 'file is too big' }, 'is too big');
        parts.push(part as Buffer);
      }
      return Buffer.concat(parts);
    } catch (error) {
      throw signal.aborted ? signal.reason : failed('file', error);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.once.destroy(), this.polling.destroy()]);
  }

  private async answer(method: string, sent: Body, dispatcher: Dispatcher, signal: AbortSignal): Promise<unknown> {
    let status: number;
    let text: string;
    try {
      const response = await request(`${this.root}/bot${this.token}/${method}`, {
        method: 'POST',
        ...sent,
        dispatcher,
        signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      status = response.statusCode;
      text = await response.body.text();
    } catch (error) {
      throw failed(method, error);
    }
    return resultOf(method, status, text);
  }
}

type Body = Pick<Dispatcher.RequestOptions, 'body' | 'headers'>;

const asJson = (params: object): Body => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(params),
});

function multipart(params: object, { field, name, mime, data }: Upload): Body {
  const form = new FormData();
  for (const [key, value] of Object.entries(params))
    if (value !== undefined) form.set(key, typeof value === 'string' ? value : JSON.stringify(value));
  form.set(field, new Blob([new Uint8Array(data)], { type: mime }), name);
  return { body: form as Body['body'] };
}

/** The content of an answer. An answer that is none of Telegram's tells nothing about the outcome. */
export function resultOf(method: string, status: number, text: string): unknown {
  let answer: Answer | null = null;
  try {
    answer = JSON.parse(text) as Answer | null;
  } catch {}
  if (answer?.ok === true) return answer.result;
  const code = typeof answer?.error_code === 'number' ? answer.error_code : status;
  // whoever says so has not read the message to its end
  if (code === 413)
    throw new TelegramError(method, { kind: 'refused', code, description: 'too large' }, 'is too large');
  if (answer?.ok !== false || code >= 500)
    throw new TelegramError(method, { kind: 'unknown' }, `answered with status ${status}`);
  const description = String(answer.description ?? '');
  const { retry_after: retryAfter, migrate_to_chat_id: movedTo } = answer.parameters ?? {};
  throw new TelegramError(
    method,
    {
      kind: 'refused',
      code,
      description,
      ...(typeof retryAfter === 'number' && { retryAfter }),
      ...(typeof movedTo === 'number' && { movedTo }),
    },
    `refused (${code} ${description})`,
  );
}

/** Errors of which it is certain that no byte of the request was sent. */
const BEFORE_SENDING =
  /^(ENOTFOUND|EAI_\w+|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EPROTO|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+)$/;

function failed(method: string, error: unknown): TelegramError {
  if (error instanceof TelegramError) return error;
  const { code, syscall, name, errors } = error as Partial<NodeJS.ErrnoException> & { errors?: unknown[] };
  // several addresses of one name were tried
  const codes = errors?.length ? errors.map((each) => (each as NodeJS.ErrnoException).code ?? '') : [code ?? ''];
  const before = syscall === 'connect' || codes.every((each) => BEFORE_SENDING.test(each));
  // the message of the error could contain the address
  return new TelegramError(
    method,
    { kind: before ? 'not sent' : 'unknown' },
    `no answer (${codes[0] || name || 'error'})`,
  );
}
