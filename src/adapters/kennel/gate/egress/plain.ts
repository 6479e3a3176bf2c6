import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { guardedLookup } from '../../../web/address-guard.ts';
import type { Target } from './allow-list.ts';
import type { TunnelDeps } from './tunnel.ts';

/** Headers that belong to one connection and not to the request. */
const OF_THE_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']);

const endToEnd = (headers: IncomingMessage['headers']) => Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name)));

/** Passes one plain HTTP request on to a mirror that the owner named. `opened`: the connection to it, as soon as there is one. */
export function forwardPlain(deps: TunnelDeps, target: Target, request: IncomingMessage, response: ServerResponse, opened: (server: Socket) => void): void {
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
    lookup: guardedLookup(deps.resolve, (address) => deps.allows(address, target)),
  });
  sent.once('socket', opened);
  sent.on('timeout', () => sent.destroy());
  sent.on('error', (error: NodeJS.ErrnoException) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end(`${target.host}:${target.port} cannot be reached (${error.code ?? 'unknown'}).\n`);
  });
  sent.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  response.once('close', () => sent.destroy());
  request.pipe(sent);
}
