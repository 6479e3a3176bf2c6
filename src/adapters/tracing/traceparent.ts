import { isSpanContextValid, type SpanContext } from '@opentelemetry/api';

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
