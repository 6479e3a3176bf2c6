import { setTimeout as pause } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { EventEnvelope } from '../../src/contracts/records.ts';

/** A screen that follows a thread, and after each break goes on with `Last-Event-ID`, at whichever API answers then. */
export interface Reader {
  /** numbers of the events, in the order in which they came */
  seen: number[];
  breaks(): number;
  close(): void;
}

const AGAIN_MS = 200;

export function follow(url: string, threadId: string): Reader {
  const seen: number[] = [];
  const over = new AbortController();
  let breaks = 0;
  const read = async (): Promise<void> => {
    const last = seen.at(-1);
    const headers = {
      authorization: 'Bearer test-token',
      ...(last !== undefined && { 'last-event-id': String(last) }),
    };
    const { body } = await fetch(`${url}/v1/threads/${threadId}/events`, { headers, signal: over.signal });
    for await (const { data } of body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()))
      seen.push((JSON.parse(data) as EventEnvelope).seq);
  };
  void (async () => {
    while (!over.signal.aborted) {
      await read().catch(() => {});
      breaks += 1;
      await pause(AGAIN_MS);
    }
  })();
  return { seen, breaks: () => breaks, close: () => over.abort() };
}
