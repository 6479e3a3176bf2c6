import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** gRPC */
const PERMISSION_DENIED = '7';

export interface TemporalProxy {
  address: string;
  close(): Promise<void>;
}

/**
 * A Temporal server in front of the real one, which differs from it in what `change` says: calls that this user may not
 * make (names of methods, `*` for a whole service), or the version that it says it has.
 */
export async function startTemporalProxy(
  target: string,
  change: { forbidden?: string[]; version?: string },
): Promise<TemporalProxy> {
  const upstream = connect(`http://${target}`);
  const server = createServer();
  const isForbidden = (path: string): boolean => {
    const [, service = '', method = ''] = path.split('/');
    return (change.forbidden ?? []).some(
      (name) => name === method || (name.endsWith('*') && service.endsWith(name.slice(0, -1))),
    );
  };
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const path = String(headers[':path']);
    stream.on('error', () => {});
    if (isForbidden(path)) {
      stream.respond(
        {
          ':status': 200,
          'content-type': 'application/grpc',
          'grpc-status': PERMISSION_DENIED,
          'grpc-message': 'not allowed',
        },
        { endStream: true },
      );
    } else if (change.version !== undefined && path.endsWith('/GetSystemInfo')) {
      answer(stream, systemInfo(change.version));
    } else {
      const { connection: _, ':scheme': _scheme, ':authority': _authority, ...rest } = headers;
      const request = upstream.request({ ...rest });
      request.on('error', () => stream.close());
      stream.on('close', () => request.close());
      request.on('response', ({ ':status': status, ...received }) => {
        stream.respond({ ':status': status, ...received }, { waitForTrailers: true });
        let trailers: Record<string, unknown> = {};
        request.on('trailers', (sent) => {
          trailers = { ...sent };
        });
        stream.on('wantTrailers', () => stream.sendTrailers(trailers as never));
        request.pipe(stream);
      });
      stream.pipe(request);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      upstream.destroy();
      server.close();
    },
  };
}

function answer(stream: ServerHttp2Stream, message: Buffer): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([frame, message]));
}

/** GetSystemInfoResponse: field 1 is the version of the server */
const systemInfo = (version: string): Buffer =>
  Buffer.concat([Buffer.from([0x0a, version.length]), Buffer.from(version)]);
