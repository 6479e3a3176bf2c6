import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { databaseFile, databaseVersion, devServerArguments } from '../../../temporal/dev-server.ts';
import { archiveName } from '../../../temporal/download.ts';
import type { Progress } from '../../../temporal/folders.ts';
import { ProvisionError, provideTemporal } from '../../../temporal/server.ts';
import { compareVersions, misfit, parseVersion } from '../../../temporal/version.ts';

let root: string;
let server: Server | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fetch-provision-'));
});
afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(root, { recursive: true, force: true });
});

/** A program that says what the Temporal CLI says about itself. */
const program = (folder: string, says: string): string => {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'temporal');
  writeFileSync(file, `#!/bin/sh\necho '${says}'\n`);
  chmodSync(file, 0o755);
  return file;
};
const fitting = 'temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)';
const NOWHERE = { url: 'http://127.0.0.1:9', sha256: '0'.repeat(64) };
const provide = (path: string, more: Partial<Parameters<typeof provideTemporal>[0]> = {}) =>
  provideTemporal({
    home: join(root, 'home'),
    cache: join(root, 'cache'),
    env: { PATH: path, GOPATH: join(root, 'go') },
    downloadFrom: NOWHERE,
    ...more,
  });

/** Serves an official-looking release; returns its address. */
async function release(checksum: 'right' | 'wrong'): Promise<{ url: string; sha256: string }> {
  program(join(root, 'release'), fitting);
  execFileSync('tar', ['-czf', join(root, 'release.tar.gz'), '-C', join(root, 'release'), 'temporal']);
  const archive = readFileSync(join(root, 'release.tar.gz'));
  const sha256 = checksum === 'right' ? createHash('sha256').update(archive).digest('hex') : '0'.repeat(64);
  server = createServer((request, response) => {
    if (request.url?.endsWith(archiveName())) response.setHeader('content-length', archive.length).end(archive);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sha256 };
}

test('a fitting binary that was fetched before is used before one on PATH', async () => {
  program(join(root, 'bin'), fitting);
  const file = program(join(root, 'home', 'bin'), fitting);
  expect(await provide(join(root, 'bin'))).toEqual({ path: file, cli: '1.5.1', server: '1.29.1' });
});

test('a program that a package put on the PATH of npm is never the server, nor one in a folder that depends on where the command was given', async () => {
  const planted = program(join(root, 'node_modules', '.bin'), fitting);
  program(join(root, 'bin'), 'hello');
  const path = `${join(root, 'node_modules', '.bin')}:${join('node_modules', '.bin')}:.::${join(root, 'bin')}`;
  const found = await provide(path, { install: false }).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(ProvisionError);
  expect((found as Error).message).not.toContain(planted);
});

test('a binary that is too old or is another program is passed over for the next place', async () => {
  program(join(root, 'old'), 'temporal version 1.1.0 (Server 1.25.0, UI 2.0.0)');
  program(join(root, 'other'), 'hello');
  const file = program(join(root, 'cache'), fitting);
  expect((await provide(`${join(root, 'old')}:${join(root, 'other')}`)).path).toBe(file);
});

/** A Go that writes down what it is asked, and fails. */
const failingGo = (): { folder: string; asked: () => string } => {
  const folder = join(root, 'gobin');
  const asked = join(root, 'asked');
  mkdirSync(folder);
  writeFileSync(join(folder, 'go'), `#!/bin/sh\necho "$@" >> '${asked}'\necho "no network" >&2; exit 1\n`);
  chmodSync(join(folder, 'go'), 0o755);
  return { folder, asked: () => (existsSync(asked) ? readFileSync(asked, 'utf8') : '') };
};

test('Go is asked for its folders only where no server is found before', async () => {
  const { folder, asked } = failingGo();
  const file = program(join(root, 'cache'), fitting);
  expect((await provide(folder)).path).toBe(file);
  expect(asked()).toBe('');
  rmSync(file);
  await provide(folder).catch(() => {});
  expect(asked()).toContain('env GOBIN GOPATH');
});

test('a server that is built here reads no checksum of its 200 MB at each start', async () => {
  const { folder, asked } = failingGo();
  await provide(folder).catch(() => {});
  expect(asked()).toMatch(/^build .*-ldflags -s -w -X go\.temporal\.io\/sdk\/internal\.binaryChecksum=\w+ /m);
});

test('a binary in the folder of Go counts as found', async () => {
  const file = program(join(root, 'go', 'bin'), 'temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)');
  expect((await provide('')).path).toBe(file);
});

test('the server that made the database of this home is preferred', async () => {
  program(join(root, 'bin'), 'temporal version 1.8.2 (Server 1.31.2, UI 2.50.0)');
  const file = program(join(root, 'cache'), fitting);
  expect((await provide(join(root, 'bin'), { preferServer: '1.29' })).path).toBe(file);
});

test('a server that a person puts into the state folder is taken, also where another minor version made the database', async () => {
  program(join(root, 'cache'), fitting);
  const file = program(join(root, 'home', 'bin'), 'temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)');
  expect((await provide('', { preferServer: '1.29' })).path).toBe(file);
});

test('a download is checked, kept in the cache and reported with its size', async () => {
  const seen: Progress[] = [];
  const binary = await provide('', {
    downloadFrom: await release('right'),
    onProgress: (progress) => seen.push(progress),
  });
  expect(binary.path).toBe(join(root, 'cache', 'temporal'));
  expect(seen.some(({ done, total }) => done !== undefined && done === total)).toBe(true);
});

test('a download removes those of earlier versions, but the one before it', async () => {
  const version = (name: string, year: number) => {
    const folder = join(root, name);
    program(folder, fitting);
    utimesSync(folder, new Date(`${year}-01-01`), new Date(`${year}-01-01`));
  };
  for (const [at, name] of ['temporal-1.10.0', 'temporal-1.4.0', 'temporal-1.9.0'].entries()) version(name, 2020 + at);
  mkdirSync(join(root, 'node'));
  await provide('', { cache: join(root, 'temporal-1.11.0'), downloadFrom: await release('right') });
  expect(readdirSync(root).filter((name) => /^(temporal|node)/.test(name))).toEqual([
    'node',
    'temporal-1.11.0',
    'temporal-1.9.0',
  ]);
});

test('a download with a wrong checksum is thrown away, and the failure lists what was tried and what to do', async () => {
  // a Go that fails at once simulates a machine without a network
  const error = await provide(failingGo().folder, { downloadFrom: await release('wrong') }).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ProvisionError);
  expect((error as Error).message).toMatch(/official download: the checksum of .* is wrong/);
  expect((error as Error).message).toMatch(/go build: go build failed: no network/);
  expect((error as Error).message).toMatch(/TEMPORAL_ADDRESS/);
  expect(existsSync(join(root, 'cache', 'temporal'))).toBe(false);
});

test('versions are read and judged by their numbers', () => {
  expect(parseVersion(fitting)).toEqual({ cli: '1.5.1', server: '1.29.1' });
  expect(parseVersion('temporal version 9')).toBeNull();
  expect(compareVersions('1.9.0', '1.27.0')).toBeLessThan(0);
  expect(misfit({ cli: '0.0.0-DEV', server: '1.29.1' })).toBeNull();
  expect(misfit({ cli: '1.5.1', server: '1.26.9' })).toMatch(/older than/);
  expect(misfit({ cli: '1.5.1', server: '2.0.0' })).toMatch(/never tried/);
});

test('each minor version of the server has a database file of its own', () => {
  expect(databaseVersion(root)).toBeNull();
  for (const version of ['1.9.3', '1.29.1']) writeFileSync(databaseFile(root, version), '');
  expect(databaseVersion(root)).toBe('1.29');
});

test('the embedded server is started on loopback with the settings that make a step quick', () => {
  const args = devServerArguments({
    home: '/h',
    server: '1.29.1',
    port: 1,
    ui: { ip: '127.9.9.9', port: 2 },
    namespace: 'default',
  }).join(' ');
  for (const part of [
    '--ip 127.0.0.1',
    'transferProcessorMaxPollRPS=2000',
    'timerProcessorMaxPollRPS=2000',
    'enableActivityEagerExecution=true',
    'useNewMatcher=true',
    'journal_mode=WAL',
    '--ui-codec-endpoint /codec',
  ])
    expect(args).toContain(part);
});
