/** A small MCP client over streamable HTTP: calls `ask_human` and waits for its answer as long as it takes. */

export interface AskServer {
  url: string;
  headers: Array<{ name: string; value: string }>;
}

export type Asked = { answer: string } | { parked: true } | { refused: string };

interface Message {
  id?: number;
  result?: { content?: Array<{ type: string; text?: string }>; isError?: boolean; _meta?: Record<string, unknown> };
  error?: { message: string };
}

export async function askHuman(
  server: AskServer,
  question: string,
  options: string[],
  signal: AbortSignal,
): Promise<Asked> {
  await post(
    server,
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'practice', version: '1' } },
    },
    signal,
  );
  await post(server, { method: 'notifications/initialized' }, signal);
  const params = {
    name: 'ask_human',
    arguments: { question, ...(options.length > 0 && { options }) },
    _meta: { progressToken: 'ask' },
  };
  const message = await post(server, { id: 2, method: 'tools/call', params }, signal);
  if (message?.error) return { refused: message.error.message };
  const text = message?.result?.content?.find((part) => part.type === 'text')?.text ?? '';
  if (message?.result?._meta?.['fetch/parked']) return { parked: true };
  return message?.result?.isError ? { refused: text } : { answer: text };
}

async function post(server: AskServer, message: object, signal: AbortSignal): Promise<Message | null> {
  const headers = new Headers(server.headers.map((header): [string, string] => [header.name, header.value]));
  headers.set('content-type', 'application/json');
  headers.set('accept', 'application/json, text/event-stream');
  const response = await fetch(server.url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal,
  });
  if (!response.ok) throw new Error(`ask_human answered ${response.status}`);
  if (response.status === 202) return null;
  if (!response.headers.get('content-type')?.includes('text/event-stream')) return (await response.json()) as Message;
  let buffer = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    buffer += chunk;
    for (let end = buffer.indexOf('\n\n'); end >= 0; end = buffer.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(buffer.slice(0, end))?.[1];
      buffer = buffer.slice(end + 2);
      const event = data ? (JSON.parse(data) as Message) : null;
      if (event?.id === 2) return event;
    }
  }
  throw new Error('the connection to ask_human ended without an answer');
}
