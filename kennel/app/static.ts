import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { pipeline } from 'node:stream';

/** Serves the files of this folder, for a project that is nothing but pages. Its container ends it. */

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.htm': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.ico': 'image/x-icon',
  '.wasm': 'application/wasm',
};

function fileAt(path: string): string | null {
  try {
    // a path that leads out of the folder begins at its root again
    const file = join(process.cwd(), normalize(`/${decodeURIComponent(path)}`));
    const stats = statSync(file);
    return stats.isDirectory() ? fileAt(`${path}/index.html`) : stats.isFile() ? file : null;
  } catch {
    return null;
  }
}

createServer((request, response) => {
  const file = fileAt(new URL(request.url ?? '/', 'http://localhost').pathname);
  if (!file) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': TYPES[extname(file).toLowerCase()] ?? 'application/octet-stream' });
  pipeline(createReadStream(file), response, () => {});
}).listen(8080, '127.0.0.1');
