import type { BinaryNode } from '@whiskeysockets/baileys';
import type { Live } from '../live.ts';

/**
 * The server's answer to a message. `late`: none in time; `closed`: the connection ended first. In both cases nobody
 * knows whether it was accepted.
 */
export type ServerAnswer =
  | { kind: 'accepted' /** by the server's clock, in whole seconds */; at?: Date }
  | { kind: 'refused'; code: string }
  | { kind: 'late' }
  | { kind: 'closed' };

const timeOf = (seconds: string | undefined): { at?: Date } =>
  seconds && Number(seconds) > 0 ? { at: new Date(Number(seconds) * 1000) } : {};

/**
 * Listens for the server's answer to a message id; call it before the bytes are sent. A recipient's receipt proves as
 * much as the ack, and may come first. (The library's own send reports success when the bytes are written, and its
 * waiter accepts any stanza.)
 */
export function listenForAnswer(
  live: Live,
  messageId: string,
  deadlineMs: number,
  signal: AbortSignal,
): { answer: Promise<ServerAnswer>; stop(): void } {
  const tag = `TAG:${messageId}`;
  let settle!: (answer: ServerAnswer) => void;
  const answer = new Promise<ServerAnswer>((resolve) => {
    settle = resolve;
  });
  const heard = ({ tag: name, attrs }: BinaryNode) => {
    if (name === 'ack')
      settle(attrs.error ? { kind: 'refused', code: attrs.error } : { kind: 'accepted', ...timeOf(attrs.t) });
    else if (name === 'receipt' && attrs.type !== 'error' && attrs.type !== 'server-error')
      settle({ kind: 'accepted' });
  };
  const closed = () => settle({ kind: 'closed' });
  const timer = setTimeout(settle, deadlineMs, { kind: 'late' });
  live.sock.ws.on(tag, heard);
  live.closed.addEventListener('abort', closed);
  signal.addEventListener('abort', closed);
  if (live.closed.aborted || signal.aborted) closed();
  return {
    answer,
    stop() {
      clearTimeout(timer);
      live.sock.ws.off(tag, heard);
      live.closed.removeEventListener('abort', closed);
      signal.removeEventListener('abort', closed);
    },
  };
}

/** Errors of a closed socket: its own status (428, 408, 440, ...) or a bare number. */
export function isClosed(error: unknown): boolean {
  if (typeof error === 'number') return true;
  const { output, message } = (error ?? {}) as { output?: { statusCode?: number }; message?: string };
  return (
    [408, 428, 440, 503, 515].includes(output?.statusCode ?? 0) ||
    /connection (closed|terminated|lost)|websocket/i.test(message ?? '')
  );
}
