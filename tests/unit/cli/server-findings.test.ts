import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { certificateFindings } from '../../../src/cli/checks/server/certificates.ts';
import { connectionFinding, queueFindings, schemaFinding } from '../../../src/cli/checks/server/server.ts';
import { loadConfig } from '../../../src/config.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-certificates-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('says when a certificate expires, by the one that ends last among authorities', async () => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const now = Date.now();
  const until30 = await generate([{ name: 'commonName', value: 'fetch' }], {
    algorithm: 'sha256',
    notAfterDate: new Date(now + 30 * 86_400_000),
  } as never);
  const until60 = await generate([{ name: 'commonName', value: 'fetch' }], {
    algorithm: 'sha256',
    notAfterDate: new Date(now + 60 * 86_400_000),
  } as never);
  const config = loadConfig(
    {
      FETCH_HOME: folder,
      TEMPORAL_ADDRESS: 'cluster:7233',
      TEMPORAL_TLS_CLIENT_CERT_PATH: file('client.pem', until30.cert),
      TEMPORAL_TLS_CLIENT_KEY_PATH: file('client.key', until30.private),
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('ca.pem', until30.cert + until60.cert),
      DATABASE_URL: `postgres://fetch@db/fetch?sslrootcert=${file('empty.pem', '')}`,
    },
    {},
  );
  const states = (at: number) => certificateFindings(config, at).map(({ state }) => state);
  expect(states(now)).toEqual(['ok', 'ok', 'missing']);
  expect(states(now + 15 * 86_400_000)).toEqual(['warning', 'ok', 'missing']);
  expect(states(now + 31 * 86_400_000)).toEqual(['missing', 'ok', 'missing']);
  expect(certificateFindings(config, now + 31 * 86_400_000)[0]).toMatchObject({
    mend: expect.stringContaining('client.pem'),
  });
});

it('advises one more worker for work that waits long, and a role where nobody asks', () => {
  const queue = { queue: 'agent', kind: 'workflow', backlog: 3, ageSeconds: 5, pollers: 1 } as const;
  const of = (change: Partial<Parameters<typeof queueFindings>[0][number]>) =>
    queueFindings([{ ...queue, ...change }])[0];
  expect(of({})).toMatchObject({ state: 'ok', mend: null });
  expect(of({ ageSeconds: 40 })).toMatchObject({
    state: 'warning',
    mend: 'run one more worker',
    detail: expect.stringContaining('for 40 s'),
  });
  expect(of({ pollers: 0 })).toMatchObject({ state: 'missing' });
  const runs = (change: Parameters<typeof of>[0]) => of({ queue: 'background', ...change });
  expect(runs({ pollers: 0, backlog: 0, ageSeconds: 0 })).toMatchObject({ state: 'ok', mend: null });
  expect(runs({ ageSeconds: 500 })).toMatchObject({ state: 'ok', mend: null });
  expect(runs({ ageSeconds: 700 })).toMatchObject({ state: 'warning', mend: 'run one more worker' });
  expect(runs({ pollers: 0, ageSeconds: 40 })).toMatchObject({
    state: 'missing',
    mend: 'start a worker: fetch worker',
  });
  expect(of({ queue: 'kennel-one', kind: 'activity', pollers: 0 })).toMatchObject({
    state: 'warning',
    mend: expect.stringContaining('fetch kennel-worker'),
  });
});

it('tells tables of an older release from those of a newer one, and a server that is nearly full of connections', () => {
  expect(schemaFinding({ missing: [], newer: [] }).state).toBe('ok');
  expect(schemaFinding({ missing: ['0050_audit'], newer: [] })).toMatchObject({
    state: 'missing',
    mend: 'fetch prepare',
  });
  expect(schemaFinding({ missing: [], newer: ['0099_later'] }).state).toBe('warning');
  expect(schemaFinding({ missing: ['0050_audit'], newer: ['0099_later'] })).toMatchObject({
    state: 'missing',
    detail: expect.stringContaining('newer release'),
  });
  const facts = { version: '17.1', bytes: 5e6, connections: 10, maxConnections: 100, applications: [] };
  expect(connectionFinding(facts).state).toBe('ok');
  expect(connectionFinding({ ...facts, connections: 90 })).toMatchObject({
    state: 'warning',
    mend: expect.stringContaining('max_connections'),
  });
});
