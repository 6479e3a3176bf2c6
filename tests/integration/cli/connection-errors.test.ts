import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TlsOptions } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shownCertificateFindings } from '../../../src/cli/checks/server/certificates.ts';
import { databaseProblem, temporalProblem } from '../../../src/cli/instance/connections/problems.ts';
import { temporalEndpoint } from '../../../src/cli/instance/connections/servers.ts';
import { childEnvironment, loadConfig } from '../../../src/config.ts';
import { openStore } from '../../../src/store/postgres/database.ts';
import { prepareNamespace } from '../../../temporal/namespace.ts';
import { FETCH_SETTING, freePorts } from '../../support/app.ts';
import { type MadeCertificate, makeCertificate } from '../../support/certificates.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startTestTemporal, type TestTemporal } from '../../support/temporal.ts';
import { startTemporalProxy, type TemporalProxy } from '../../support/temporal-proxy.ts';
import { startTlsProxy } from '../../support/tls-front.ts';
import { until } from '../../support/until.ts';

/** What a person is told when a connection with TLS fails: which certificate, host or setting is wrong. */

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'fetch-connections-'));
const made: Record<
  'authority' | 'stranger' | 'server' | 'expired' | 'elsewhere' | 'client' | 'foreign' | 'old',
  MadeCertificate
> = {} as never;
const closing: Array<() => Promise<unknown>> = [];
let temporal: TestTemporal;
let database: TestDatabase;
let guarded: TemporalProxy;
let server: { cert: string; key: string };

beforeAll(async () => {
  chmodSync(folder, 0o755);
  made.authority = await makeCertificate(folder, { commonName: 'Our Authority', authority: true });
  made.stranger = await makeCertificate(folder, { commonName: 'Another Authority', authority: true });
  const { authority, stranger } = made;
  made.server = await makeCertificate(folder, { commonName: 'server', for: ['127.0.0.1'], by: authority });
  made.expired = await makeCertificate(folder, { commonName: 'expired', for: ['127.0.0.1'], by: authority, days: -3 });
  made.elsewhere = await makeCertificate(folder, {
    commonName: 'elsewhere',
    for: ['temporal.example.org'],
    by: authority,
  });
  made.client = await makeCertificate(folder, { commonName: 'client', by: authority });
  made.foreign = await makeCertificate(folder, { commonName: 'foreign', by: stranger });
  made.old = await makeCertificate(folder, { commonName: 'old', by: authority, days: -1 });
  [temporal, database] = await Promise.all([startTestTemporal(), startSecureDatabase()]);
  guarded = await startTemporalProxy(temporal.address, { forbidden: ['GetSystemInfo'] });
}, 120_000);
afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
  await guarded?.close();
  await Promise.all([temporal?.close(), database?.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** One database of it takes only TLS, another only clients with a certificate of our authority. */
async function startSecureDatabase(): Promise<TestDatabase> {
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content, { mode: 0o644 });
    return join(folder, name);
  };
  server = { cert: join(folder, 'postgres.pem'), key: join(folder, 'postgres.key') };
  show(made.server);
  const rules = [
    'hostssl certified all all scram-sha-256 clientcert=verify-ca',
    'hostssl secure all all scram-sha-256',
    'host postgres,nowhere all all scram-sha-256',
  ];
  const hba = file('pg_hba.conf', `${rules.join('\n')}\n`);
  const started = await startTestDatabase(2, [
    'ssl=on',
    `ssl_cert_file=${server.cert}`,
    `ssl_key_file=${server.key}`,
    `ssl_ca_file=${file('roots.pem', made.authority.cert)}`,
    `hba_file=${hba}`,
  ]);
  for (const name of ['secure', 'certified']) await sql`create database ${sql.ref(name)}`.execute(started.store.db);
  return started;
}

/** PostgreSQL wants a key that belongs to its user. */
function show({ certFile, keyFile }: MadeCertificate): void {
  copyFileSync(certFile, server.cert);
  chmodSync(server.cert, 0o644);
  copyFileSync(keyFile, server.key);
  chmodSync(server.key, 0o600);
  if (process.getuid?.() !== 0) return;
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'])));
  chownSync(server.key, uid!, gid!);
}

async function front(target: string, options: TlsOptions): Promise<string> {
  const proxy = await startTlsProxy(target, options);
  closing.push(proxy.close);
  return proxy.address;
}

const ofTemporal = (settings: Record<string, string>) => loadConfig({ FETCH_HOME: folder, ...settings }, {});

/** How a start fails with these settings. */
async function temporalSays(settings: Record<string, string>): Promise<string> {
  try {
    const config = ofTemporal(settings);
    await prepareNamespace(temporalEndpoint(config), 'default', {
      waitMs: 20_000,
      explain: (error) => temporalProblem(config, error),
    });
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it could connect');
}

describe('a Temporal server', () => {
  const shows = (which: MadeCertificate, more: TlsOptions = {}) =>
    front(temporal.address, { key: which.key, cert: which.cert, ...more });
  const wants = (): TlsOptions => ({ ca: made.authority.cert, requestCert: true, rejectUnauthorized: true });
  const trusted = () => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: made.authority.certFile });
  const as = (which: MadeCertificate) => ({
    TEMPORAL_TLS_CLIENT_CERT_PATH: which.certFile,
    TEMPORAL_TLS_CLIENT_KEY_PATH: which.keyFile,
  });

  it('that shows a certificate which cannot be trusted is told with the certificate and the setting', async () => {
    const [good, expired, elsewhere] = await Promise.all([
      shows(made.server),
      shows(made.expired),
      shows(made.elsewhere),
    ]);
    const [late, unknown, another, name] = await Promise.all([
      temporalSays({ TEMPORAL_ADDRESS: expired, ...trusted() }),
      temporalSays({ TEMPORAL_ADDRESS: good, TEMPORAL_TLS: 'true' }),
      temporalSays({ TEMPORAL_ADDRESS: good, TEMPORAL_TLS_SERVER_CA_CERT_PATH: made.stranger.certFile }),
      temporalSays({ TEMPORAL_ADDRESS: elsewhere, ...trusted() }),
    ]);
    expect(late).toMatch(
      new RegExp(
        `^The Temporal server at ${expired} shows a certificate that expired on \\d{4}-\\d\\d-\\d\\d\\. Renew it`,
      ),
    );
    expect(unknown).toMatch(
      /shows a certificate by "Our Authority", whom this machine does not know.*: TEMPORAL_TLS_SERVER_CA_CERT_PATH\.$/,
    );
    expect(another).toMatch(/by "Our Authority", whom the file of TEMPORAL_TLS_SERVER_CA_CERT_PATH does not vouch for/);
    expect(name).toMatch(
      /is for temporal\.example\.org, and not for 127\.0\.0\.1\. .* set TEMPORAL_TLS_SERVER_NAME=temporal\.example\.org\.$/,
    );
  });

  it('that wants a certificate says so, and which one it refuses', async () => {
    const address = await shows(made.server, wants());
    const [none, foreign] = await Promise.all([
      temporalSays({ TEMPORAL_ADDRESS: address, ...trusted() }),
      temporalSays({ TEMPORAL_ADDRESS: address, ...trusted(), ...as(made.foreign) }),
    ]);
    expect(none).toMatch(
      /wants a certificate of ours\. Set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH\.$/,
    );
    expect(foreign).toMatch(/refuses the certificate of TEMPORAL_TLS_CLIENT_CERT_PATH: its authority/);
    const config = ofTemporal({ TEMPORAL_ADDRESS: address, ...trusted(), ...as(made.client) });
    await expect(prepareNamespace(temporalEndpoint(config), 'default')).resolves.toMatchObject({ warnings: [] });
  });

  it('is not spoken to in the clear where it wants TLS, nor the reverse, and one that is not there is said to be away', async () => {
    const [port] = await freePorts(1);
    const [clear, secured, away] = await Promise.all([
      temporalSays({ TEMPORAL_ADDRESS: await shows(made.server) }),
      temporalSays({ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_TLS: 'true' }),
      temporalProblem(
        ofTemporal({ TEMPORAL_ADDRESS: `127.0.0.1:${port}` }),
        new Error('Failed to connect before the deadline'),
      ).then(({ message }) => message),
    ]);
    expect(clear).toMatch(/takes only connections with TLS\. Set TEMPORAL_TLS=true\.$/);
    expect(secured).toMatch(new RegExp(`^The Temporal server at ${temporal.address} speaks no TLS\\.`));
    expect(away).toBe(
      `No Temporal server answers at 127.0.0.1:${port}: Nothing listens at 127.0.0.1:${port} (TEMPORAL_ADDRESS). Start the Temporal server, or correct the address.`,
    );
  });

  it('that refuses an API key, or wants one, is told so', async () => {
    const address = await front(guarded.address, { key: made.server.key, cert: made.server.cert });
    const [refused, wanted] = await Promise.all([
      temporalSays({ TEMPORAL_ADDRESS: address, ...trusted(), TEMPORAL_API_KEY: 'old-key' }),
      temporalSays({ TEMPORAL_ADDRESS: address, ...trusted() }),
    ]);
    expect(refused).toMatch(/refuses TEMPORAL_API_KEY\. Check whether it has expired/);
    expect(refused).not.toContain('old-key');
    expect(wanted).toMatch(/It may want an API key: set TEMPORAL_API_KEY\.$/);
  });

  it('is not asked with files that cannot be used', async () => {
    const problem = (settings: Record<string, string>) =>
      temporalSays({ TEMPORAL_ADDRESS: 'cluster:7233', ...settings });
    const mixed = {
      TEMPORAL_TLS_CLIENT_CERT_PATH: made.client.certFile,
      TEMPORAL_TLS_CLIENT_KEY_PATH: made.foreign.keyFile,
    };
    expect(await problem({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere.pem' })).toContain(
      'TEMPORAL_TLS_SERVER_CA_CERT_PATH: there is no file /nowhere.pem.',
    );
    expect(await problem({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: folder })).toMatch(
      /TEMPORAL_TLS_SERVER_CA_CERT_PATH: .* cannot be read by this user/,
    );
    expect(await problem({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: made.client.keyFile })).toMatch(
      /has no certificate in PEM form/,
    );
    expect(await problem(mixed)).toMatch(
      /TEMPORAL_TLS_CLIENT_KEY_PATH: the key in .*foreign\.key does not belong to the certificate/,
    );
    expect(await problem({ ...mixed, TEMPORAL_TLS_CLIENT_KEY_PATH: made.client.certFile })).toMatch(
      /has no private key in PEM form/,
    );
    expect(await problem(as(made.old))).toMatch(
      /TEMPORAL_TLS_CLIENT_CERT_PATH: the certificate in .*old\.pem has expired/,
    );
  });
});

describe('a PostgreSQL server', () => {
  const at = (name: string, query: Record<string, string>, host = '127.0.0.1'): string => {
    const url = new URL(database.url);
    url.hostname = host;
    url.pathname = `/${name}`;
    url.search = new URLSearchParams(query).toString();
    return url.href;
  };
  const says = async (url: string): Promise<string> => {
    const store = await openStore(url, { max: 1, migrate: false }).catch(
      async (error) => await databaseProblem(url, 'DATABASE_URL', error),
    );
    if (store instanceof Error) return store.message;
    await store.close();
    throw new Error('it could connect');
  };
  const verified = () => ({ sslmode: 'verify-full', sslrootcert: made.authority.certFile });
  const as = (which: MadeCertificate) => ({ sslcert: which.certFile, sslkey: which.keyFile });

  it('that shows a certificate which cannot be trusted is told with the certificate and the setting', async () => {
    expect(await says(at('secure', { sslmode: 'require' }))).toMatch(
      /by "Our Authority", whom this machine does not know.*: sslrootcert of DATABASE_URL\.$/,
    );
    expect(await says(at('secure', { ...verified(), sslrootcert: made.stranger.certFile }))).toMatch(
      /whom the file of sslrootcert of DATABASE_URL does not vouch for/,
    );
    expect(await says(at('secure', { ...verified(), sslmode: 'verify-ca' }, 'localhost'))).toMatch(
      /is for 127\.0\.0\.1, and not for localhost\. Use such a name in DATABASE_URL\.$/,
    );
    const store = await openStore(at('secure', verified()), { max: 1, migrate: false });
    await store.close();
  });

  it('that wants TLS or a certificate says so, and which certificate it refuses', async () => {
    expect(await says(at('secure', {}))).toMatch(
      /takes only connections with TLS\. Set sslmode=verify-full in DATABASE_URL\.$/,
    );
    expect(await says(at('certified', verified()))).toMatch(
      /wants a certificate of ours\. Set sslcert of DATABASE_URL and sslkey of DATABASE_URL\.$/,
    );
    expect(await says(at('certified', { ...verified(), ...as(made.foreign) }))).toMatch(
      /refuses the certificate of sslcert of DATABASE_URL/,
    );
    const store = await openStore(at('certified', { ...verified(), ...as(made.client) }), { max: 1, migrate: false });
    await store.close();
  });

  it('is not asked with files that cannot be used, and a wrong password or database is said', async () => {
    expect(await says(at('secure', { ...verified(), sslrootcert: '/nowhere.pem' }))).toContain(
      'sslrootcert of DATABASE_URL: there is no file /nowhere.pem.',
    );
    expect(await says(at('secure', { ...verified(), sslrootcert: 'system' }))).toMatch(/Leave sslrootcert out/);
    expect(
      await says(at('secure', { ...verified(), sslcert: made.client.certFile, sslkey: made.foreign.keyFile })),
    ).toMatch(/does not belong to the certificate/);
    const wrong = new URL(at('secure', verified()));
    wrong.password = 'wrong-password';
    expect(await says(wrong.href)).toMatch(/refuses the user or the password of DATABASE_URL\./);
    const nowhere = new URL(at('postgres', {}));
    nowhere.pathname = '/nowhere';
    expect(await says(nowhere.href)).toMatch(/has no database of the name in DATABASE_URL/);
  });

  it('that speaks no TLS is said to, and one that is not there is said to be away', async () => {
    const plain = await startTestDatabase(1);
    closing.push(plain.close);
    const url = new URL(plain.url);
    url.search = 'sslmode=verify-full';
    expect(await says(url.href)).toMatch(
      /speaks no TLS\. Correct DATABASE_URL, turn TLS on at the server, or set sslmode=disable in DATABASE_URL\.$/,
    );
    const [port] = await freePorts(1);
    url.port = String(port);
    expect(await says(url.href)).toMatch(
      new RegExp(`^No PostgreSQL answers at 127\\.0\\.0\\.1:${port}: Nothing listens`),
    );
  });

  it('whose certificate expires is found before, and afterwards by its sentence, by `fetch doctor` too', async () => {
    const settings = {
      DATABASE_URL: at('secure', verified()),
      TEMPORAL_ADDRESS: await front(temporal.address, { key: made.expired.key, cert: made.expired.cert }),
    };
    const config = ofTemporal({ ...settings, TEMPORAL_TLS_SERVER_CA_CERT_PATH: made.authority.certFile });
    const found = await shownCertificateFindings(config);
    expect(found.map(({ state }) => state).sort()).toEqual(['missing', 'ok']);
    expect(
      (await shownCertificateFindings(config, Date.now() + 80 * 86_400_000)).find(({ mend }) =>
        mend?.includes('PostgreSQL'),
      ),
    ).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^expires in 9 days/),
    });
    show(made.expired);
    await sql`select pg_reload_conf()`.execute(database.store.db);
    const expired = await until('the server shows the other certificate', async () => {
      const said = await says(settings.DATABASE_URL).catch(() => '');
      return said.includes('expired') && said;
    });
    expect(expired).toMatch(/shows a certificate that expired on /);
    const clean = Object.fromEntries(
      Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')),
    );
    const env = {
      ...clean,
      ...settings,
      FETCH_HOME: join(folder, 'home'),
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: made.authority.certFile,
    };
    const doctor = await promisify(execFile)(process.execPath, [ENTRY, 'doctor', '--json'], { env }).catch(
      (error: { stdout: string }) => error,
    );
    const { findings } = JSON.parse(doctor.stdout) as { findings: Array<{ name: string; detail: string }> };
    for (const name of ['temporal', 'postgres'])
      expect(findings.find((each) => each.name === name)?.detail, name).toMatch(/shows a certificate that expired on /);
    expect(findings.filter(({ name }) => name.startsWith('certificate of'))).toHaveLength(2);
  }, 60_000);
});
