/**
 * Spans of traces. Nothing is recorded before `startTracing`: where no endpoint is set, a span costs one comparison,
 * and no library is loaded. Attributes have a closed list of names, for ids, sizes and outcomes. Texts, addresses and
 * keys have no place among them.
 */

/** Where a trace goes on, as the W3C header `traceparent` writes it. */
type TraceParent = string;

export type SpanAttributes = Partial<
  Record<
    | 'fetch.attempt'
    | 'fetch.calls'
    | 'fetch.channel'
    | 'fetch.inbox_id'
    | 'fetch.meant'
    | 'fetch.outbox_id'
    | 'fetch.outcome'
    | 'fetch.queued_ms'
    | 'fetch.steps'
    | 'fetch.task_id'
    | 'fetch.tool'
    | 'fetch.turn_id'
    | 'gen_ai.operation.name'
    | 'gen_ai.request.model'
    | 'gen_ai.usage.cache_read.input_tokens'
    | 'gen_ai.usage.input_tokens'
    | 'gen_ai.usage.output_tokens'
    | 'http.request.method'
    | 'http.response.status_code'
    | 'http.route'
    | 'temporal.workflow_id',
    string | number
  >
>;

export interface SpanOptions {
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /**
   * the span that this code runs in, when unset; a new trace where there is none, or where the text is no `traceparent`
   */
  parent?: TraceParent | null | undefined;
  attributes?: SpanAttributes;
}

/** What records spans: `src/adapters/tracing`. */
export interface Tracing {
  run<T>(name: string, options: SpanOptions, act: () => Promise<T>): Promise<T>;
  /** a span of something that has ended already */
  add(name: string, options: SpanOptions & { began: Date; ended: Date }): void;
  annotate(attributes: SpanAttributes): void;
  current(): TraceParent | undefined;
}

let tracing: Tracing | null = null;

/** From now on spans are recorded. */
export function startTracing(recorder: Tracing): void {
  tracing = recorder;
}

export const isTracing = (): boolean => tracing !== null;

/** Runs `act` in a span, which ends with it. A failure is recorded by its type, never by its text. */
export const traced = <T>(name: string, options: SpanOptions, act: () => Promise<T>): Promise<T> =>
  tracing ? tracing.run(name, options, act) : act();

/** Records what took place between two moments. */
export const addSpan = (name: string, options: SpanOptions & { began: Date; ended: Date }): void =>
  tracing?.add(name, options);

/** Adds to the span that this code runs in. */
export const annotate = (attributes: SpanAttributes): void => tracing?.annotate(attributes);

/** What a row keeps, so that the trace goes on in the process that reads it. */
export const currentTrace = (): TraceParent | undefined => tracing?.current();
