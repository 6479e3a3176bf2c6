import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';

const MAX_LINE = 16 * 1024 * 1024;
/** Banners and stray output are tolerated up to this many characters. */
const MAX_STRAY = 64 * 1024;
/** Limit of unanswered requests of the agent: a program that does not read its answers must not fill our memory. */
const MAX_UNANSWERED = 256;

/**
 * Newline-delimited JSON over stdio, as the SDK expects it. The SDK's own stream lacks what an untrusted agent needs:
 * this one reads no faster than messages are handled, does not answer stray text, and limits each kind of excess.
 */
export function stdioStream(
  input: Writable,
  output: Readable,
  onStray: (text: string) => void,
  onFault: (reason: string) => void,
): Stream {
  const unanswered = new Set<unknown>();
  const messages = parse(output, onStray);
  const readable = new ReadableStream<AnyMessage>(
    {
      async pull(controller) {
        try {
          const next = await messages.next();
          if (next.done) return controller.close();
          const message = next.value;
          if ('method' in message && 'id' in message) {
            unanswered.add(message.id);
            if (unanswered.size > MAX_UNANSWERED)
              throw new Error('The agent sent more requests than it took answers for.');
          }
          controller.enqueue(message);
        } catch (error) {
          onFault((error as Error).message);
          controller.close();
        }
      },
      cancel() {
        void messages.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
  const writable = new WritableStream<AnyMessage>({
    write(message) {
      if ('id' in message && !('method' in message)) unanswered.delete(message.id);
      return new Promise((resolve) => {
        // an agent that has gone is detected by its exit
        if (input.destroyed || !input.writable) return resolve();
        input.write(`${JSON.stringify(message)}\n`, () => resolve());
      });
    },
  });
  return { readable, writable };
}

async function* parse(output: Readable, onStray: (text: string) => void): AsyncGenerator<AnyMessage, undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  let stray = 0;
  for await (const chunk of output as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...parts, chunk.subarray(from, end)])
        .toString()
        .trim();
      parts = [];
      length = 0;
      from = end + 1;
      if (!line) continue;
      const message = messageOf(line);
      if (message) yield message;
      else {
        stray += line.length;
        if (stray > MAX_STRAY) throw new Error('The agent writes text to stdout that is not its protocol (ACP).');
        onStray(line);
      }
    }
    if (from < chunk.length) {
      parts.push(chunk.subarray(from));
      length += chunk.length - from;
      if (length > MAX_LINE) throw new Error(`The agent sent a line of more than ${MAX_LINE / 1024 / 1024} MB.`);
      // garbage without a line end counts even before the line is complete
      if (stray + length > MAX_STRAY && parts[0]![0] !== 0x7b)
        throw new Error('The agent writes text to stdout that is not its protocol (ACP).');
    }
  }
}

function messageOf(line: string): AnyMessage | null {
  try {
    const value = JSON.parse(line) as unknown;
    if (
      value &&
      typeof value === 'object' &&
      !Array.isArray(value) &&
      (value as { jsonrpc?: unknown }).jsonrpc === '2.0'
    )
      return value as AnyMessage;
  } catch {
    // not a message
  }
  return null;
}

/** What an agent answers, or an error after `ms`. */
export async function inTime<T>(what: string, ms: number, answer: Promise<T>): Promise<T> {
  const late = new AbortController();
  const limit = pause(ms, undefined, { signal: late.signal, ref: false }).then(
    () => {
      throw new Error(`it did not answer ${what} for ${ms / 1000} s`);
    },
    () => undefined as never,
  );
  try {
    return await Promise.race([answer, limit]);
  } finally {
    late.abort();
  }
}
