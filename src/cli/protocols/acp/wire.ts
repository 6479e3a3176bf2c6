import { createInterface } from 'node:readline';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';

/** A line is one message. A longer one is refused, because a message is held in memory whole. */
const LONGEST = 32 * 1024 * 1024;

interface Refusal {
  id: string | number | null;
  error: { code: number; message: string };
}

/**
 * Messages on standard input and output, one JSON object a line. What is no request gets the error of the reference
 * server.
 */
export function stdio(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Stream {
  const write = (message: unknown): Promise<void> =>
    new Promise((resolve, reject) =>
      output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve())),
    );
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      lines.on('line', (line) => {
        if (line.trim() === '') return;
        const read = readLine(line);
        if ('message' in read) controller.enqueue(read.message);
        else write({ jsonrpc: '2.0', ...read }).catch(() => {});
      });
      lines.on('close', () => controller.close());
    },
    cancel: () => lines.close(),
  });
  return { readable, writable: new WritableStream({ write }) };
}

/** One line as a message, or what its sender is told. */
export function readLine(line: string): { message: AnyMessage } | Refusal {
  if (line.length > LONGEST) return refusal(null, -32600, `message is longer than ${LONGEST} characters`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return refusal(null, -32700, `invalid json: ${(error as Error).message}`);
  }
  const { jsonrpc, id, method } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const from = typeof id === 'string' || typeof id === 'number' ? id : null;
  if (jsonrpc !== '2.0') return refusal(from, -32600, 'jsonrpc version must be 2.0');
  const answers = Object.hasOwn(value as object, 'result') || Object.hasOwn(value as object, 'error');
  if (typeof method !== 'string' && !answers) return refusal(from, -32600, 'missing method');
  return { message: value as AnyMessage };
}

const refusal = (id: Refusal['id'], code: number, message: string): Refusal => ({ id, error: { code, message } });
