import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer, type TlsOptions } from 'node:tls';
import { generate } from 'selfsigned';

export interface TlsFront {
  address: string;
  /** settings of a client that this server takes */
  env: Record<string, string>;
  close(): Promise<void>;
}

// the default, SHA-1, is refused by the native core of the worker
const STRONG = { algorithm: 'sha256', keySize: 2048 };

/**
 * A server in front of another that speaks TLS and wants a certificate of its clients, as a cluster of somebody else
 * does.
 */
export async function startTlsFront(target: string, folder: string): Promise<TlsFront> {
  const server = await generate([{ name: 'commonName', value: 'temporal.example.org' }], {
    ...STRONG,
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'temporal.example.org' }] }],
  } as never);
  const client = await generate([{ name: 'commonName', value: 'fetch' }], STRONG as never);
  const front = await startTlsProxy(target, {
    key: server.private,
    cert: server.cert,
    ca: client.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  return {
    address: front.address,
    env: {
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('ca.pem', server.cert),
      TEMPORAL_TLS_CLIENT_CERT_PATH: file('client.pem', client.cert),
      TEMPORAL_TLS_CLIENT_KEY_PATH: file('client.key', client.private),
      TEMPORAL_TLS_SERVER_NAME: 'temporal.example.org',
    },
    close: front.close,
  };
}

/** Speaks TLS as gRPC does, and hands the rest to `target`. */
export async function startTlsProxy(target: string, options: TlsOptions): Promise<Pick<TlsFront, 'address' | 'close'>> {
  const [host, port] = target.split(':');
  const front = createServer({ ...options, ALPNProtocols: ['h2'] }, (socket) => {
    const behind = connect(Number(port), host);
    socket.pipe(behind).pipe(socket);
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  // also those whose handshake never ends
  const open = new Set<Socket>();
  front.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(front.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise<void>((resolve) => front.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
