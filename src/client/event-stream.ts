import { createParser } from 'eventsource-parser';

/**
 * Data of each server-sent event of a body, in order. `alive` is called for every chunk, keep-alive comments included.
 * An incomplete event is dropped: the caller asks for it again by its number.
 */
export async function* serverSentData(
  body: ReadableStream<Uint8Array>,
  alive: () => void = () => {},
): AsyncGenerator<string> {
  let data: string[] = [];
  const parser = createParser({ onEvent: (event) => data.push(event.data) });
  const decoder = new TextDecoder();
  // no `for await` over the body: Safari has none
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      parser.feed(decoder.decode(value, { stream: true }));
      yield* data;
      data = [];
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
