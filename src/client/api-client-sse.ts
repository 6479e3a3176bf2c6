/**
 * Data of each server-sent event of a body, in order. `alive` is called for every chunk, keep-alive comments included.
 * An incomplete event is dropped: the caller asks for it again by its number.
 */
export async function* serverSentData(
  body: ReadableStream<Uint8Array>,
  alive: () => void = () => {},
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    alive();
    rest += decoder.decode(chunk, { stream: true });
    // a CR at the very end may be half of a CRLF
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
  }
}
