import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import type { SpanOptions, Tracing } from '../../telemetry/tracing.ts';

/** The header of W3C Trace Context, version 00. Later versions only add to its end. */
const FORM = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

/** Null for text that is no `traceparent`: it comes from callers, too. */
export function parentOf(text: string): SpanContext | null {
  const [, traceId, spanId, flags] = FORM.exec(text.trim()) ?? [];
  if (!traceId || !spanId || !flags || text.startsWith('ff')) return null;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? context : null;
}

export const textOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags & 1 ? '01' : '00'}`;

/** A word, as names of classes and failures are. */
const WORD = /^[A-Za-z][A-Za-z0-9_]{0,60}$/;

/**
 * What kind of failure it was: the type of a classified one, the code of the system or the database, or the class.
 * Never a text, which may quote anything.
 */
export function failureType(error: unknown): string {
  const { type, code, name } = (error ?? {}) as { type?: unknown; code?: unknown; name?: unknown };
  for (const each of [type, code, name]) if (typeof each === 'string' && WORD.test(each)) return each;
  return 'Error';
}

/** Short, because what is not sent yet is lost when a process is killed. */
const SEND_EVERY_MS = 1_000;
const SEND_LIMIT_MS = 4_000;
/** While the endpoint is away so many spans wait, and later ones are dropped: some 2 MB. */
const MOST_WAITING = 2_048;
/** An endpoint that is away fails every second. */
const SAY_AGAIN_MS = 60_000;

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} satisfies Record<SpanOptions['kind'], SpanKind>;

export interface OtlpOptions {
  /** with its path, as `http://127.0.0.1:4318/v1/traces` */
  url: string;
  protocol: 'http/protobuf' | 'http/json';
  headers: Record<string, string>;
  /** attributes of the process: name and version of the service, its role */
  resource: Record<string, string>;
  /** share of new traces that is recorded, from 0 to 1; what a caller has decided holds for its own */
  ratio: number;
  log: Logger;
}

/**
 * Records spans and sends them to an OTLP endpoint. Neither waits for the endpoint nor fails with it. `close` sends
 * what waits.
 */
export async function openOtlp(options: OtlpOptions): Promise<Tracing & { close(): Promise<void> }> {
  const exporter = telling(await openExporter(options), options.log);
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(options.resource),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.ratio) }),
    spanProcessors: [
      new BatchSpanProcessor(exporter, {
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: SEND_LIMIT_MS,
        maxQueueSize: MOST_WAITING,
      }),
    ],
  });
  return { ...recorder(provider.getTracer('fetch')), close: () => provider.shutdown().catch(() => {}) };
}

async function openExporter({ protocol, url, headers }: OtlpOptions): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter({ url, headers, timeoutMillis: SEND_LIMIT_MS });
}

function recorder(tracer: Tracer): Tracing {
  const running = new AsyncLocalStorage<Span>();
  const start = (name: string, { kind, parent, attributes }: SpanOptions, startTime?: Date): Span =>
    tracer.startSpan(
      name,
      { kind: KINDS[kind], ...(attributes && { attributes }), ...(startTime && { startTime }) },
      contextOf(parent, running.getStore()),
    );
  return {
    async run(name, options, act) {
      const span = start(name, options);
      try {
        return await running.run(span, act);
      } catch (error) {
        span.setAttribute('error.type', failureType(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },
    add: (name, { began, ended, ...options }) => start(name, options, began).end(ended),
    annotate: (attributes) => void running.getStore()?.setAttributes(attributes),
    current() {
      const span = running.getStore();
      return span && textOf(span.spanContext());
    },
  };
}

function contextOf(parent: SpanOptions['parent'], running: Span | undefined): Context {
  const named = parent ? parentOf(parent) : null;
  if (named) return trace.setSpanContext(ROOT_CONTEXT, named);
  return running ? trace.setSpan(ROOT_CONTEXT, running) : ROOT_CONTEXT;
}

/** Says that spans are lost, once a minute. The error itself may have headers in it, so only the fact is logged. */
function telling(exporter: SpanExporter, log: Logger): SpanExporter {
  let told = Number.NEGATIVE_INFINITY;
  const tell = () => {
    if (performance.now() - told < SAY_AGAIN_MS) return;
    told = performance.now();
    log.warn('traces could not be sent; some are lost. Look at OTEL_EXPORTER_OTLP_ENDPOINT and what answers there');
  };
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error || result.code !== 0) tell();
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}
