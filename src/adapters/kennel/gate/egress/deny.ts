import type { Socket } from 'node:net';

/** Answers a CONNECT with a refusal. The text is for people who read the agent's output. */
export function deny(client: Socket, status: string, text: string): void {
  const body = `${text}\n`;
  // without `destroySoon` a client that never closes its side would keep the connection
  client.write(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  client.destroySoon();
}
