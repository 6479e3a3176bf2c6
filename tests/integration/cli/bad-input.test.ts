import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseUrl, removeCluster } from '../../../src/cli/instance/servers/postgres.ts';
import { childEnvironment } from '../../../src/config.ts';
import { freePorts, startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));

/** Runs a command to its end. */
const fetchCommand = (args: string[], env: Record<string, string>): Promise<{ code: number; text: string }> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      [ENTRY, ...args],
      { env: childEnvironment(env), timeout: 60_000 },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, text: stdout + stderr }),
    );
  });

describe('the command line', () => {
  const home = mkdtempSync(join(tmpdir(), 'fetch-bad-'));
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it('names a flag that it does not know and a value that does not fit', async () => {
    expect(await fetchCommand(['start', '--no-such-flag'], { FETCH_HOME: home })).toMatchObject({
      code: 2,
      text: expect.stringContaining('--no-such-flag'),
    });
    expect(await fetchCommand(['start', '--runtime-port', 'banana'], { FETCH_HOME: home })).toMatchObject({
      code: 2,
      text: expect.stringContaining('FETCH_RUNTIME_PORT'),
    });
  });

  it('lists every problem of the environment and of the file at once, by name', async () => {
    writeFileSync(join(home, '.env'), 'FETCH_MAX_STEPS=many\nFETCH_TIME_ZONE=Mars/Base\n');
    const { code, text } = await fetchCommand(['status'], { FETCH_HOME: home, LOG_LEVEL: 'loud' });
    expect(code).toBe(2);
    for (const name of ['FETCH_MAX_STEPS', 'FETCH_TIME_ZONE', 'LOG_LEVEL']) expect(text).toContain(name);
  });

  it('says that nothing runs, and how to start it', async () => {
    rmSync(join(home, '.env'), { force: true });
    const { code, text } = await fetchCommand(['status', '--json'], { FETCH_HOME: home });
    expect(code).toBe(3);
    expect(JSON.parse(text)).toMatchObject({ roles: [], home });
  });

  it('refuses a home that is a file', async () => {
    const file = join(home, 'file');
    writeFileSync(file, '');
    const { code, text } = await fetchCommand(['start'], { FETCH_HOME: file });
    expect(code).not.toBe(0);
    expect(text).toContain(file);
  });
});

describe('a machine without a Temporal server that fits', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-bad-path-'));
  const place = (name: string, says: string): string => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'temporal'), `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
    return join(folder, name);
  };
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('hears of every place why it is none, what was tried to get one, and what to do', async () => {
    const other = place('other', 'Temporal thermometer 3000');
    const old = place('old', 'temporal version 1.1.0 (Server 1.25.0, UI 2.0.0)');
    const ports = await freePorts(5);
    const env = {
      FETCH_HOME: join(folder, 'home'),
      ...Object.fromEntries(
        ['RUNTIME', 'STATUS', 'TEMPORAL', 'TEMPORAL_UI', 'POSTGRES'].map((name, index) => [
          `FETCH_${name}_PORT`,
          String(ports[index]),
        ]),
      ),
      HOME: folder,
      XDG_CACHE_HOME: join(folder, 'cache'),
      PATH: `${other}:${old}:/usr/bin:/bin`,
      // no way out: nothing is fetched and nothing is built
      HTTPS_PROXY: 'http://127.0.0.1:9',
      https_proxy: 'http://127.0.0.1:9',
      ...{
        GOPROXY: 'off',
        GOFLAGS: '-mod=mod',
        GOPATH: join(folder, 'go'),
        GOBIN: join(folder, 'gobin'),
        GOMODCACHE: join(folder, 'mod'),
      },
    };
    const misfits = [
      /other\/temporal is not the Temporal CLI \(it says "Temporal thermometer 3000"\)/,
      /old\/temporal does not fit: its server is 1\.25\.0, older than 1\.27\.0/,
    ];
    const doctor = await fetchCommand(['doctor'], env);
    for (const misfit of misfits) expect(doctor.text).toMatch(misfit);
    const start = await fetchCommand(['start'], env);
    removeCluster(env.FETCH_HOME);
    expect(start.code).toBe(1);
    for (const misfit of [...misfits, /official download: /, /go build: /, /TEMPORAL_ADDRESS=/])
      expect(start.text).toMatch(misfit);
    expect(start.text).not.toMatch(/\n\s+at /);
  });
});

describe('an instance', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app?.close());

  it('runs on a database that a newer version has added to', async () => {
    await sql`insert into kysely_migration (name, timestamp) values ('9998_from_the_future', now()::text)`.execute(
      app.store.db,
    );
    app.kill('worker');
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'as before' }]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    await sql`delete from kysely_migration where name = '9998_from_the_future'`.execute(app.store.db);
  });

  it('does not touch a database that a newer version has changed so that it would break, and runs again once that is undone', async () => {
    const thread = await app.thread();
    await sql`insert into kysely_migration (name, timestamp) values ('9999_breaking_from_the_future', now()::text)`.execute(
      app.store.db,
    );
    const { code, text } = await fetchCommand(['prepare'], {
      FETCH_HOME: app.home,
      TEMPORAL_ADDRESS: app.temporalAddress,
      DATABASE_URL: databaseUrl(
        app.home,
        Number(new URL(`http://${app.state().roles.find((role) => role.name === 'postgres')!.address}`).port),
      ),
    });
    expect(code).not.toBe(0);
    expect(text).toMatch(/newer version/);
    expect(text).toContain('9999_breaking_from_the_future');
    // a role that comes up meanwhile touches nothing either, and says why
    app.kill('worker');
    const worker = () => app.state().roles.find((role) => role.name === 'worker')!;
    await until('the worker says why it does not start', () => /newer version/.test(worker().lastError ?? ''));
    await sql`delete from kysely_migration where name = '9999_breaking_from_the_future'`.execute(app.store.db);
    const turn = await app.turn(thread, [{ say: 'still here' }]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
  });

  it('takes a message while the Temporal server is away, and answers it once the server is back', async () => {
    const thread = await app.thread();
    const pid = app.kill('temporal');
    const turn = await app.turn(thread, [{ say: 'better late' }]);
    expect(pid).toBeGreaterThan(0);
    expect((await app.ended(thread, turn, 90_000)).status).toBe('completed');
    await app.whenReady();
  });

  it('says why it cannot take a message while the database is away, and takes it with the same key afterwards', async () => {
    const thread = await app.thread();
    app.kill('postgres');
    const refused = await app.request(
      'POST',
      `/v1/threads/${thread}/turns`,
      { prompt: 'SCRIPT:[{"say":"kept"}]' },
      { 'idempotency-key': 'k' },
    );
    // the database restarts within a second: it was either away (and says so) or back already
    expect([201, 503]).toContain(refused.status);
    const turn = await until('the database is back', () => app.turn(thread, [{ say: 'kept' }], 'k').catch(() => null));
    expect((await app.ended(thread, turn, 90_000)).status).toBe('completed');
    expect((await app.detail(thread)).turns).toHaveLength(1);
    await app.whenReady();
  });
});
