import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ownAddress } from './npm-registry.ts';

/** Registries of other languages as folders are served: paths and what they hold. */
export interface FolderRegistry {
  /** `host:port` */
  at: string;
  url: string;
  requests: string[];
  close(): Promise<void>;
}

async function serve(files: Map<string, Buffer | string>, base: string): Promise<FolderRegistry> {
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    requests.push(path);
    const file = files.get(path);
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, path.endsWith('/') ? { 'content-type': 'text/html' } : {}).end(file);
  });
  const host = ownAddress();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const at = `${host}:${(server.address() as AddressInfo).port}`;
  return {
    at,
    url: `http://${at}${base}`,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A simple index with the package `left` 1.0.0, whose module has the text "left". */
export const startPythonIndex = (): Promise<FolderRegistry> => {
  const wheel = zipped({
    'left.py': 'TEXT = "left"\n',
    'left-1.0.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: left\nVersion: 1.0.0\n',
    'left-1.0.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'left-1.0.0.dist-info/RECORD': 'left.py,,\nleft-1.0.0.dist-info/METADATA,,\nleft-1.0.0.dist-info/WHEEL,,\nleft-1.0.0.dist-info/RECORD,,\n',
  });
  const files = new Map<string, Buffer | string>([
    ['/simple/left/', '<!DOCTYPE html><html><body><a href="/files/left-1.0.0-py3-none-any.whl">left-1.0.0-py3-none-any.whl</a></body></html>'],
    ['/files/left-1.0.0-py3-none-any.whl', wheel],
  ]);
  return serve(files, '/simple');
};

/** A module proxy with `example.com/left` v1.0.0, whose `Text` is "left". */
export const startGoProxy = (): Promise<FolderRegistry> => {
  const module = 'module example.com/left\n\ngo 1.20\n';
  const zip = zipped({ 'example.com/left@v1.0.0/go.mod': module, 'example.com/left@v1.0.0/left.go': 'package left\n\nconst Text = "left"\n' });
  const at = '/example.com/left/@v';
  const files = new Map<string, Buffer | string>([
    [`${at}/list`, 'v1.0.0\n'],
    [`${at}/v1.0.0.info`, '{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}'],
    [`${at}/v1.0.0.mod`, module],
    [`${at}/v1.0.0.zip`, zip],
  ]);
  return serve(files, '');
};

/** A sparse index with the crate `left` 1.0.0, whose constant `TEXT` is "left". */
export async function startCargoIndex(): Promise<FolderRegistry> {
  const files = new Map<string, Buffer | string>();
  const registry = await serve(files, '/index/');
  const crate = packed('left-1.0.0', {
    'Cargo.toml': '[package]\nname = "left"\nversion = "1.0.0"\nedition = "2021"\n',
    'src/lib.rs': 'pub const TEXT: &str = "left";\n',
  });
  const cksum = createHash('sha256').update(crate).digest('hex');
  files.set('/index/config.json', JSON.stringify({ dl: `http://${registry.at}/crates/{crate}-{version}.crate` }));
  files.set('/index/le/ft/left', `${JSON.stringify({ name: 'left', vers: '1.0.0', deps: [], cksum, features: {}, yanked: false })}\n`);
  files.set('/crates/left-1.0.0.crate', crate);
  return registry;
}

/** A compressed archive of a folder. */
function packed(name: string, files: Record<string, string>): Buffer {
  const place = mkdtempSync(join(tmpdir(), 'fetch-crate-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(place, name, path)), { recursive: true });
      writeFileSync(join(place, name, path), text);
    }
    return execFileSync('tar', ['-czf', '-', '-C', place, name]);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const ZIP = `
import io, json, sys, zipfile
out = io.BytesIO()
with zipfile.ZipFile(out, "w") as z:
    for name, text in json.load(sys.stdin).items():
        z.writestr(name, text)
sys.stdout.buffer.write(out.getvalue())
`;

const zipped = (files: Record<string, string>): Buffer => execFileSync('python3', ['-c', ZIP], { input: JSON.stringify(files) });
