import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as an OTLP endpoint gets it. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** empty for the first of a trace */
  parentSpanId: string;
  name: string;
  /** of the process that sent it */
  role: string;
  failed: boolean;
  attributes: Record<string, string | number>;
  /** ms since the epoch */
  began: number;
  ended: number;
}

export interface OtlpReceiver {
  /** for OTEL_EXPORTER_OTLP_ENDPOINT */
  url: string;
  spans(): ReceivedSpan[];
  /** bodies as they came */
  bodies: Buffer[];
  headers: IncomingHttpHeaders[];
  /** from now on it answers with this status */
  answerWith(status: number): void;
  close(): Promise<void>;
}

/** An OTLP endpoint over HTTP that takes JSON apart, and keeps everything else as it is. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const bodies: Buffer[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.method !== 'POST' || request.url !== '/v1/traces') return void response.writeHead(404).end();
      headers.push(request.headers);
      if (status === 200) bodies.push(Buffer.concat(parts));
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => bodies.flatMap((body) => spansOf(JSON.parse(body.toString()))),
    bodies,
    headers,
    answerWith: (next) => {
      status = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface KeyValue {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number };
}
interface Body {
  resourceSpans: Array<{
    resource: { attributes: KeyValue[] };
    scopeSpans: Array<{
      spans: Array<{
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        status: { code?: number };
        attributes: KeyValue[];
      }>;
    }>;
  }>;
}

const values = (list: KeyValue[]): Record<string, string | number> =>
  Object.fromEntries(
    list.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
  );

const spansOf = ({ resourceSpans }: Body): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        role: String(values(resource.attributes)['fetch.role']),
        failed: span.status.code === 2,
        attributes: values(span.attributes),
        began: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        ended: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
      })),
    ),
  );
