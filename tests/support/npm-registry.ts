import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';

/** A registry of npm packages on this machine's own address, as a company has one in its network. */
export interface NpmRegistry {
  /** `host:port` */
  at: string;
  url: string;
  /** paths that were asked for */
  requests: string[];
  close(): Promise<void>;
}

/** Serves one package, `left` 1.0.0, whose module is the text "left". */
export async function startNpmRegistry(): Promise<NpmRegistry> {
  const tarball = packed();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    if (request.url === '/left/-/left-1.0.0.tgz') response.end(tarball);
    else if (request.url === '/left')
      response.setHeader('content-type', 'application/json').end(JSON.stringify(document()));
    else response.writeHead(404).end();
  });
  const host = ownAddress();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const at = `${host}:${(server.address() as AddressInfo).port}`;
  const dist = {
    tarball: `http://${at}/left/-/left-1.0.0.tgz`,
    integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
  };
  const document = () => ({
    name: 'left',
    'dist-tags': { latest: '1.0.0' },
    versions: { '1.0.0': { name: 'left', version: '1.0.0', dist } },
  });
  return {
    at,
    url: `http://${at}/`,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Files of a project that depends on the package. */
export const dependent = {
  'package.json': JSON.stringify({ name: 'demo', version: '1.0.0', dependencies: { left: '1.0.0' } }),
  'package-lock.json': JSON.stringify({
    name: 'demo',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: {
      '': { name: 'demo', version: '1.0.0', dependencies: { left: '1.0.0' } },
      'node_modules/left': { version: '1.0.0' },
    },
  }),
};

function packed(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-registry-'));
  try {
    mkdirSync(join(folder, 'package'));
    writeFileSync(
      join(folder, 'package/package.json'),
      JSON.stringify({ name: 'left', version: '1.0.0', main: 'index.js' }),
    );
    writeFileSync(join(folder, 'package/index.js'), 'module.exports = "left";\n');
    execFileSync('tar', ['-czf', 'left.tgz', 'package'], { cwd: folder });
    return readFileSync(join(folder, 'left.tgz'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An address of this machine that is not loopback: Docker gives it one at least. */
export function ownAddress(): string {
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  if (!found) throw new Error('this machine has no address besides loopback');
  return found.address;
}
