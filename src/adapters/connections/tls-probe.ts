import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import { CLOSED_AFTER_HANDSHAKE, type ShownCertificate } from '../../domain/connections/sentences.ts';
import type { TlsMaterial } from './tls-files.ts';

/**
 * A handshake of our own with a server that could not be reached, or whose certificate is to be read. Libraries of
 * connections keep what they learn of TLS to themselves. Nothing is sent to the server beyond the handshake.
 */
export interface ProbeTarget {
  host: string;
  port: number;
  /** the name that the certificate must have */
  serverName: string;
  material: TlsMaterial;
  /** PostgreSQL is asked for TLS in its own protocol first */
  asks: 'postgres' | 'grpc';
}
interface Probed {
  /** null: the server would take us */
  error: unknown;
  shown: ShownCertificate | null;
}

const PATIENCE_MS = 5_000;
/** With TLS 1.3 a server refuses a client's certificate after the handshake. */
const REFUSES_MS = 1_000;
/** Length and code of SSLRequest */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

export async function probeTls(target: ProbeTarget): Promise<Probed> {
  let socket: Socket | undefined;
  try {
    socket = await opened(target);
    if (target.asks === 'postgres') await askPostgres(socket);
    return await handshake(target, socket);
  } catch (error) {
    return { error, shown: null };
  } finally {
    socket?.destroy();
  }
}

function opened({ host, port }: ProbeTarget): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host, port, timeout: PATIENCE_MS });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
    socket.once('timeout', () => {
      socket.destroy();
      reject(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }));
    });
  });
}

async function askPostgres(socket: Socket): Promise<void> {
  const answer = await new Promise<Buffer>((resolve, reject) => {
    socket.once('data', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('The server ended the connection.')));
    socket.write(SSL_REQUEST);
  });
  if (answer.toString('latin1', 0, 1) !== 'S') throw new Error('The server does not support SSL connections');
}

function handshake({ serverName, material, asks }: ProbeTarget, socket: Socket): Promise<Probed> {
  return new Promise((resolve) => {
    let shown: ShownCertificate | null = null;
    const settle = (error: unknown) => resolve({ error, shown });
    let tls: TLSSocket;
    try {
      tls = connectTls({
        socket,
        ...material,
        // looked at below, so that the certificate is seen in any case
        rejectUnauthorized: false,
        checkServerIdentity: () => undefined,
        ...(isIP(serverName) === 0 && { servername: serverName }),
        ...(asks === 'grpc' && { ALPNProtocols: ['h2'] }),
      });
    } catch (error) {
      return settle(error);
    }
    const closed = () =>
      settle(
        Object.assign(new Error('The server ended the connection after the handshake.'), {
          code: CLOSED_AFTER_HANDSHAKE,
        }),
      );
    tls.once('error', (error: NodeJS.ErrnoException) =>
      shown && error.code === 'ECONNRESET' ? closed() : settle(error),
    );
    tls.setTimeout(PATIENCE_MS, () => settle(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    tls.once('secureConnect', () => {
      const certificate = tls.getPeerCertificate();
      shown = shownBy(certificate);
      const code = tls.authorizationError as unknown as string | undefined;
      const wrong = code
        ? Object.assign(new Error(String(code)), { code: String(code) })
        : checkServerIdentity(serverName, certificate);
      if (wrong) return settle(wrong);
      tls.once('data', () => settle(null));
      tls.once('close', closed);
      setTimeout(settle, REFUSES_MS, null);
    });
  });
}

function shownBy({ subject, issuer, subjectaltname = '', valid_from, valid_to }: PeerCertificate): ShownCertificate {
  const names = [...subjectaltname.matchAll(/(?:DNS|IP Address):([^\s,]+)/g)].map(([, name]) => name!);
  const nameOf = (of: PeerCertificate['subject'] | undefined) => String(of?.CN ?? of?.O ?? 'no name');
  return {
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    names,
    from: new Date(valid_from),
    until: new Date(valid_to),
  };
}
