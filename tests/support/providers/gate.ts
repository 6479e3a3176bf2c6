import { createServer, request as forward, type Server } from 'node:http';
import { join } from 'node:path';

/**
 * Stands in for the gate of the host in a folder `gate` of a run: `model.sock` leads straight to the scripted providers, nothing is added and
 * nothing is counted; `egress.sock` refuses everything, and remembers what.
 */
export async function startOpenGate(folder: string, origin: string): Promise<{ refused: string[]; close(): Promise<void> }> {
  const refused: string[] = [];
  const model = createServer((request, response) => {
    const onward = forward(origin + request.url, { method: request.method, headers: { ...request.headers, host: new URL(origin).host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  const egress = createServer((request, response) => {
    refused.push(request.url ?? '');
    response.writeHead(403).end();
  });
  egress.on('connect', (request, socket) => {
    refused.push(request.url ?? '');
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  });
  await Promise.all([listen(model, join(folder, 'model.sock')), listen(egress, join(folder, 'egress.sock'))]);
  return {
    refused,
    async close() {
      for (const server of [model, egress]) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}
