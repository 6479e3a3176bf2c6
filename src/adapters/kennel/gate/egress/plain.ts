import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BlockedAddressError, guardedLookup } from '../../../web/address-guard.ts';
import type { Target } from './allow-list.ts';
import { inTurn, type TunnelDeps } from './tunnel.ts';

/** Headers that belong to one connection and not to the request. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export const endToEnd = (headers: IncomingMessage['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name)));

/** The port of plain HTTP. A rule for another port was asked for without the word that nothing is encrypted. */
const PLAIN_PORT = 80;

/**
 * Whether a request may be sent without encryption to a host that is no mirror: it only reads, and carries no secret
 * that is meant for the host.
 */
export function isOpenRead({ method, url, headers }: IncomingMessage, { port }: Target): boolean {
  const { username, password } = new URL(url!);
  const sends = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
  const secret = username || password || headers.authorization !== undefined || headers.cookie !== undefined;
  return port === PLAIN_PORT && (method === 'GET' || method === 'HEAD') && !sends && !secret;
}

/** Package managers show the status, and few of them the text. */
export function refusePlain(response: ServerResponse, status: string, words: string): void {
  const text = `${words}\n`;
  response.writeHead(Number(status.slice(0, 3)), status.slice(4), {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  });
  response.end(text);
}

interface Forwarding {
  /** the connection to the server, as soon as there is one */
  opened(server: Socket): void;
  /** the name leads to an address that is not allowed */
  blocked(): void;
}

/** Passes one plain HTTP request on. */
export function forwardPlain(
  deps: TunnelDeps,
  target: Target,
  request: IncomingMessage,
  response: ServerResponse,
  { opened, blocked }: Forwarding,
): void {
  const { pathname, search, host } = new URL(request.url!);
  const sent = httpRequest({
    host: target.host,
    port: target.port,
    method: request.method,
    path: pathname + search,
    // RFC 9112 section 3.2.2: not what the client says, or it could mean another host behind the same front
    headers: { ...endToEnd(request.headers), host },
    agent: false,
    timeout: deps.idleMs,
    lookup: guardedLookup(inTurn(deps), (address) => deps.allows(address, target)),
  });
  sent.once('socket', opened);
  sent.on('timeout', () => sent.destroy());
  sent.on('error', (error: NodeJS.ErrnoException) => {
    if (response.headersSent) response.destroy();
    else if (error instanceof BlockedAddressError) blocked();
    else
      response
        .writeHead(502, { 'content-type': 'text/plain' })
        .end(`${target.host}:${target.port} cannot be reached (${error.code ?? 'unknown'}).\n`);
  });
  relay(request, sent, response);
}

/** Sends a request on, and its answer back. A client that leaves ends both. */
export function relay(request: IncomingMessage, sent: ClientRequest, response: ServerResponse): void {
  sent.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  response.once('close', () => sent.destroy());
  request.pipe(sent);
}
