import { type AgentOptions, type ClientRequestArgs, type Agent as HttpAgent, Agent as PlainAgent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import { BlockedAddressError, guardedLookup } from '../../../web/address-guard.ts';
import type { Target } from '../egress/allow-list.ts';
import { inTurn, type TunnelDeps } from '../egress/tunnel.ts';

/**
 * The connections of one task to one registry, and to where it keeps its files. They are counted and can be cut, so
 * tasks do not share them.
 */
export interface Upstream {
  agent: (url: URL) => HttpAgent;
  /** Whether an address could be reached at all: a look-up never sees a literal one. */
  mayReach(url: URL): boolean;
  close(): void;
}

interface UpstreamDeps extends TunnelDeps {
  /** a connection, before it is made */
  opened: (socket: Socket, at: Target) => void;
  /** it could not be made */
  failed: (at: Target) => void;
}

const LIMITS: AgentOptions = { keepAlive: true, maxSockets: 12, maxTotalSockets: 24, timeout: 15_000 };
const CONNECT_MS = 15_000;
/** The code of an error: the name leads to no address that may be reached. */
export const BLOCKED = 'EBLOCKED';

export function upstream(deps: UpstreamDeps): Upstream {
  const plain = new (class extends PlainAgent {
    override createConnection(options: ClientRequestArgs): Socket {
      return ended(dial(deps, targetOf(options)));
    }
  })(LIMITS);
  const tls = new (class extends TlsAgent {
    override createConnection(options: ClientRequestArgs): Socket {
      const at = targetOf(options);
      const raw = dial(deps, at);
      const name = isIP(at.host) ? {} : { servername: at.host };
      const secure = super.createConnection(Object.assign({ ...options }, name, { socket: raw })) as Socket;
      raw.on('error', (error) => secure.destroy(error));
      return ended(secure);
    }
  })(LIMITS);
  return {
    agent: (url) => (url.protocol === 'https:' ? tls : plain),
    mayReach: ({ hostname: host, port, protocol }) =>
      !isIP(host) || deps.allows(host, { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) }),
    close() {
      plain.destroy();
      tls.destroy();
    },
  };
}

const targetOf = ({ hostname, host, port, defaultPort }: ClientRequestArgs): Target => ({
  host: String(hostname ?? host),
  port: Number(port) || Number(defaultPort),
});

/** Connects to exactly an address that was checked. */
function dial(deps: UpstreamDeps, at: Target): Socket {
  const lookup = guardedLookup(inTurn(deps), (address) => deps.allows(address, at));
  const socket = connect({
    ...at,
    autoSelectFamily: true,
    lookup: (host, options, callback) =>
      lookup(host, options, (error, ...found) =>
        callback(error instanceof BlockedAddressError ? Object.assign(error, { code: BLOCKED }) : error, ...found),
      ),
  });
  const tooLong = setTimeout(
    () => socket.destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' })),
    CONNECT_MS,
  );
  let connected = false;
  socket.once('connect', () => {
    connected = true;
    clearTimeout(tooLong);
    socket.setNoDelay(true);
  });
  socket.once('close', () => clearTimeout(tooLong));
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // one without a code was cut by us
    if (!connected && error.code && error.code !== BLOCKED) deps.failed(at);
  });
  deps.opened(socket, at);
  return socket;
}

/** A server that stops in the middle of an answer. The time is set by each request. */
function ended(socket: Socket): Socket {
  socket.on('timeout', () => socket.destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' })));
  return socket;
}
