import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { Logger } from 'pino';
import { type Dispatcher, request as send } from 'undici';
import type { Limited } from '../../../../store/turns/limits.ts';
import { neverArrived, refuse } from './errors.ts';
import { answeredHeaders, createRedact, type Redact, sentHeaders } from './headers.ts';
import type { Ledger } from './ledger.ts';
import { type Limits, maySayLimit, type RefusedCall } from './limits.ts';
import { createMeter, type Meter } from './meter.ts';
import type { Route } from './routes.ts';
import type { Upstream } from './upstreams.ts';

export interface ModelCallDeps {
  ledger: Ledger;
  limits: Limits;
  dispatcher: Dispatcher;
  /** until the first byte of an answer, and between two parts of it, in ms */
  headersMs: number;
  idleMs: number;
  /** between two parts that say something, in ms */
  signsMs: number;
  log: Logger;
}

/** A call that is allowed. */
interface AllowedCall {
  route: Route;
  upstream: Upstream;
  body: { bytes: Buffer | null; model: string | null };
  /** what its limits belong to */
  limited: Limited;
  /** the caller has left */
  signal: AbortSignal;
}

/** Longest error text that is read for what it says of a limit. */
const ERROR_BYTES = 256 * 1024;

/**
 * Makes one call of an agent and passes the answer back, without the key in it. Its usage is counted, however it ends.
 */
export class ModelCall {
  private readonly deps: ModelCallDeps;
  private readonly call: AllowedCall;
  private meter: Meter | null = null;

  constructor(deps: ModelCallDeps, call: AllowedCall) {
    this.deps = deps;
    this.call = call;
  }

  async run(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { route } = this.call;
    const startedAt = Date.now();
    try {
      await this.pass(await this.ask(request), response);
    } finally {
      const usage = this.meter?.finish();
      if (usage) {
        this.deps.ledger.add(usage);
        this.deps.log.debug({ protocol: route.protocol, ms: Date.now() - startedAt, ...usage }, 'model call');
      }
    }
  }

  private async ask(request: IncomingMessage): Promise<Dispatcher.ResponseData> {
    const { route, upstream, body, signal } = this.call;
    return await send(`${upstream.origin}${upstream.base}${route.path}`, {
      method: request.method as 'GET' | 'POST',
      headers: sentHeaders(request.headers, upstream.credential),
      body: body.bytes,
      signal,
      dispatcher: this.deps.dispatcher,
      headersTimeout: this.deps.headersMs,
      bodyTimeout: this.deps.idleMs,
    }).catch((error: unknown) => {
      // the model may have been at work all the time, so the request counts, or hanging up early would be free
      if (!neverArrived(error)) this.count(null);
      throw error;
    });
  }

  private async pass(answer: Dispatcher.ResponseData, response: ServerResponse): Promise<void> {
    const status = answer.statusCode;
    if (status >= 300 && status < 400) {
      await answer.body.dump();
      return refuse(response, this.call.route.protocol, {
        status: 502,
        message: 'The model endpoint redirects elsewhere, which is not followed. Correct its base URL in the settings.',
      });
    }
    // an error costs nothing
    if (status < 300) this.count(String(answer.headers['content-type'] ?? ''));
    // a success may still turn into a refusal
    if (status < 500 && !maySayLimit(status) && !this.meter) this.deps.limits.answered(this.call.limited);
    const redact = createRedact(this.call.upstream.secrets);
    const headers = answeredHeaders(answer.headers, redact);
    const decoder = decoderOf(headers);
    // what a limit says is on record before the agent hears of it, and ends
    if (maySayLimit(status)) return await this.passRefusal(answer, { status, headers, decoder, redact }, response);
    response.writeHead(status, headers);
    response.flushHeaders();
    const through = (source: AsyncIterable<Uint8Array>) => this.through(source, answer.headers, redact);
    if (decoder) await pipeline(answer.body, decoder, through, response);
    else await pipeline(answer.body, through, response);
  }

  private async passRefusal(
    answer: Dispatcher.ResponseData,
    {
      status,
      headers,
      decoder,
      redact,
    }: { status: number; headers: Record<string, string | string[]>; decoder: Transform | null; redact: Redact },
    response: ServerResponse,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of decoder ? answer.body.pipe(decoder) : answer.body) {
      size += (chunk as Buffer).length;
      chunks.push(chunk as Buffer);
      if (size > ERROR_BYTES) throw new Error('The error text of the model endpoint is too long.');
    }
    const text = Buffer.concat(chunks).toString();
    await this.deps.limits.refused(this.call.limited, { status, headers: answer.headers, text });
    const body = Buffer.from(redact.text(text));
    response.writeHead(status, { ...headers, 'content-length': String(body.length) });
    response.end(body);
  }

  /**
   * Passes an answer on: metered, redacted, and read for a limit that it tells of, which is on record before the agent
   * hears of it.
   */
  private async *through(
    source: AsyncIterable<Uint8Array>,
    headers: RefusedCall['headers'],
    redact: Redact,
  ): AsyncGenerator<Uint8Array> {
    const { limits } = this.deps;
    const { limited } = this.call;
    let told: 'nothing' | 'answered' | 'refused' = 'nothing';
    const judge = async (ended: boolean): Promise<void> => {
      const { something, refusal } = this.meter?.said() ?? { something: false, refusal: null };
      if (refusal && told !== 'refused') {
        told = 'refused';
        await limits.refused(limited, {
          status: refusal.status,
          headers,
          text: JSON.stringify({ error: refusal.error }),
        });
      } else if (this.meter && told === 'nothing' && (something || ended)) {
        told = 'answered';
        limits.answered(limited);
      }
    };
    let saidAt = Date.now();
    for await (const chunk of source) {
      if (!isSign(chunk)) saidAt = Date.now();
      else if (Date.now() - saidAt > this.deps.signsMs) throw new Error('Only signs of life came for too long.');
      this.meter?.feed(chunk);
      await judge(false);
      const certain = redact.chunk(chunk);
      if (certain.length) yield certain;
    }
    this.meter?.end();
    await judge(true);
    const rest = redact.end();
    if (rest.length) yield rest;
  }

  /** From here on the call is paid for. */
  private count(contentType: string | null): void {
    const { route, upstream, body } = this.call;
    if (!route.wire) return;
    this.meter = createMeter({
      wire: route.wire,
      contentType,
      model: route.model ?? body.model ?? 'unknown',
      requestBytes: body.bytes?.byteLength ?? 0,
      prices: upstream.prices,
    });
  }
}

const LONGEST_SIGN = 1_000;
/** Whether a part of an answer has only comments and pings, which endpoints send while a request waits. */
const isSign = (chunk: Uint8Array): boolean =>
  chunk.length <= LONGEST_SIGN &&
  Buffer.from(chunk)
    .toString('latin1')
    .split(/\r?\n/)
    .every((line) => line === '' || /^(:|event: ?ping$|data: ?\{"type": ?"ping"\}$)/.test(line));

/**
 * No compression was requested, but some servers in between compress anyway, and then the usage could not be read.
 * Changes the headers to those that are passed on.
 */
function decoderOf(headers: Record<string, string | string[]>): Transform | null {
  const encoding = String(headers['content-encoding'] ?? 'identity')
    .trim()
    .toLowerCase();
  if (encoding === 'identity') return null;
  const make = {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
    zstd: createZstdDecompress,
  }[encoding];
  if (!make) throw new Error('The answer of the model endpoint is compressed in a way that is not known.');
  delete headers['content-encoding'];
  delete headers['content-length'];
  return make();
}
