import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { liveRunState } from '../../../src/cli/instance/home/state-file.ts';
import { removeCluster } from '../../../src/cli/instance/servers/postgres.ts';
import { childEnvironment } from '../../../src/config.ts';
import { FETCH_SETTING, freePorts } from '../../support/app.ts';
import { copyDatabaseTo } from '../../support/made-database.ts';
import { until } from '../../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));

interface Running {
  child: ChildProcess;
  out(): string;
  err(): string;
  /** exit code, once it has ended */
  ended(): Promise<number | null>;
}

const folder = mkdtempSync(join(tmpdir(), 'fetch-serve-'));
/** as people name folders, and below with locales that this machine does not have */
const home = join(folder, 'my hömes');
const started: Running[] = [];
let env: Record<string, string>;
let ports: number[];

beforeAll(async () => {
  mkdirSync(home, { mode: 0o700 });
  await copyDatabaseTo(home);
  ports = await freePorts(6);
  env = {
    ...Object.fromEntries(
      Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')),
    ),
    LANG: 'en_GB.UTF-8',
    LC_ALL: 'xx_YY.UTF-8',
    FETCH_HOME: home,
    FETCH_STATUS_PORT: String(ports[1]),
    FETCH_TEMPORAL_PORT: String(ports[2]),
    FETCH_TEMPORAL_UI_PORT: String(ports[3]),
    FETCH_POSTGRES_PORT: String(ports[4]),
    FETCH_STOP_SECONDS: '2',
  };
});
afterAll(async () => {
  for (const { child } of started) child.kill('SIGTERM');
  await Promise.all(started.map(({ ended }) => ended()));
  removeCluster(home);
  rmSync(folder, { recursive: true, force: true });
});

function run(...args: string[]): Running {
  const child = spawn(process.execPath, [ENTRY, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const running = { child, out: () => out, err: () => err, ended: () => closed };
  started.push(running);
  return running;
}

const serve = (...args: string[]): Running => run('serve', ...args, '--port', String(ports[0]));

/** The lines of the contract, once they are there. */
const said = async ({ child, out, err }: Running): Promise<string[]> =>
  (
    await until('it serves', () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${err().slice(-3_000)}`);
      return out().includes('Security:') && out();
    })
  )
    .trimEnd()
    .split('\n');

const tokenOf = (): string => readFileSync(join(home, 'runtime-token'), 'utf8').trim();
const statusOf = async (host: string, path: string, token = tokenOf()): Promise<number> =>
  (await fetch(`http://${host}${path}`, { headers: { Authorization: `Bearer ${token}` } })).status;

describe('fetch serve --http', () => {
  it('starts Fetch, says where it listens and by which token, and nothing else on standard output', async () => {
    const lines = await said(serve('--http'));
    expect(lines).toEqual([
      `Runtime API listening on http://127.0.0.1:${ports[0]}`,
      `Runtime API auth: generated bearer token, kept in ${home}/runtime-token.`,
      `  Authorization: Bearer ${tokenOf()}`,
      '  Set DEEPSEEK_RUNTIME_TOKEN or pass --auth-token for another one.',
      'Security: this server is local-first. Do not expose it to untrusted networks.',
    ]);
    expect(await statusOf(`127.0.0.1:${ports[0]}`, '/v1/threads')).toBe(200);
    expect(await statusOf(`127.0.0.1:${ports[0]}`, '/v1/threads', 'wrong')).toBe(401);
  });

  it('attaches to what runs, and leaves it running', async () => {
    const second = serve('--http');
    expect((await said(second))[0]).toBe(`Runtime API listening on http://127.0.0.1:${ports[0]}`);
    expect(second.err()).toMatch(/Attached to the instance that runs already/);
    second.child.kill('SIGTERM');
    expect(await second.ended()).toBe(0);
    expect(await statusOf(`127.0.0.1:${ports[0]}`, '/v1/threads')).toBe(200);
  });

  it.each([
    [
      'another address',
      ['serve', '--http', '--port', '1'],
      /listens on 127\.0\.0\.1:\d+, not on 127\.0\.0\.1:1;?.*fetch stop/,
    ],
    [
      'more workers',
      ['serve', '--http', '--workers', '3', '--cors-origin', 'http://a.example'],
      /--workers and --cors-origin take effect at a start/,
    ],
    ['a page that it was started without', ['serve', '--mobile', '--host', '127.0.0.1'], /started without --mobile/],
    ['another token', ['serve', '--http', '--auth-token', 'other'], /has another token/],
    ['no token', ['serve', '--http', '--insecure'], /asks for a token/],
  ])('refuses %s than what runs has', async (_what, args, why) => {
    const refused = run(...args, ...(args.includes('--port') ? [] : ['--port', String(ports[0])]));
    expect(await refused.ended()).toBe(1);
    expect(refused.err()).toMatch(why);
    expect(refused.out()).toBe('');
  });

  it('prints the link to the page with fetch open', async () => {
    const open = run('open', '--print', '--runtime-port', String(ports[0]));
    expect([await open.ended(), open.out()]).toEqual([0, `http://127.0.0.1:${ports[0]}/?token=${tokenOf()}\n`]);
  });

  it('ends Fetch when it is ended, and what is attached with it', async () => {
    const attached = serve('--http');
    await said(attached);
    started[0]!.child.kill('SIGTERM');
    expect(await started[0]!.ended()).toBe(0);
    expect(await attached.ended()).toBe(0);
    expect(attached.err()).toContain('The instance has ended.');
    expect(await liveRunState(home)).toBeNull();
    const open = run('open');
    expect(await open.ended()).toBe(1);
    expect(open.err()).toMatch(/No Fetch answers at .*npm run fetch -- up/);
  });
});

describe('fetch serve --mobile', () => {
  it('lets the network reach the runtime API, warns, prints links and a QR, and keeps the status API to this machine', async () => {
    const mobile = serve(
      '--mobile',
      '--qr',
      '--auth-token',
      ' a b&c ',
      '--cors-origin',
      'http://a.example',
      '--cors-origin',
      'http://b.example',
    );
    const lines = await said(mobile);
    expect(mobile.err()).toMatch(/WARNING: --mobile is binding to 0\.0\.0\.0/);
    expect(mobile.err()).toMatch(/WARNING: the token has only 5 characters/);
    expect(lines.slice(0, 3)).toEqual([
      `Runtime API listening on http://0.0.0.0:${ports[0]}`,
      'Runtime API auth: bearer token required for /v1/* routes.',
      'Security: this server is local-first. Do not expose it to untrusted networks.',
    ]);
    expect(mobile.out()).toContain(`Local: http://127.0.0.1:${ports[0]}/mobile?token=a%20b%26c\n`);
    await until('the QR is there', () => /[▀▄█]{10}/.test(mobile.out()));
    const attached = serve('--mobile', '--auth-token', 'a b&c');
    expect((await said(attached)).slice(0, 3)).toEqual(lines.slice(0, 3));
    expect(await statusOf(`127.0.0.2:${ports[0]}`, '/mobile', 'wrong')).toBe(401);
    expect(await statusOf(`127.0.0.2:${ports[0]}`, '/v1/threads', 'a b&c')).toBe(200);
    await expect(fetch(`http://127.0.0.2:${ports[1]}/api/status`)).rejects.toThrow();
    for (const [origin, allowed] of Object.entries({
      'http://a.example': true,
      'http://b.example': true,
      'http://c.example': false,
    })) {
      const { headers } = await fetch(`http://127.0.0.1:${ports[0]}/health`, { headers: { Origin: origin } });
      expect(headers.get('access-control-allow-origin')).toBe(allowed ? origin : null);
    }
  });
});
