import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporalEndpoint } from '../../../src/cli/instance/connections/servers.ts';
import { loadConfig } from '../../../src/config.ts';
import { prepareNamespace } from '../../../temporal/namespace.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { startTlsFront, type TlsFront } from '../../support/tls-front.ts';

let folder: string;
let cluster: TestApp;
let front: TlsFront;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-tls-'));
  cluster = await startTestApp();
  front = await startTlsFront(cluster.temporalAddress, folder);
});
afterAll(async () => {
  await front?.close();
  await cluster?.close();
  rmSync(folder, { recursive: true, force: true });
});

const endpoint = (settings: Record<string, string>) =>
  temporalEndpoint(loadConfig({ FETCH_HOME: folder, TEMPORAL_ADDRESS: 'cluster:7233', ...settings }, {}));

describe('a Temporal server behind TLS', () => {
  it('that wants a certificate of its clients serves every role', async () => {
    const app = await startTestApp({ TEMPORAL_ADDRESS: front.address, TEMPORAL_NAMESPACE: 'behind-tls', ...front.env });
    try {
      const thread = await app.thread();
      const turn = await app.turn(thread, [{ call: [['workflow_list', {}]] }, { say: 'done' }]);
      expect((await app.ended(thread, turn)).status).toBe('completed');
    } finally {
      await app.close();
    }
  });

  it('is not spoken to without what it wants', async () => {
    const { TEMPORAL_TLS_CLIENT_CERT_PATH: _cert, TEMPORAL_TLS_CLIENT_KEY_PATH: _key, ...without } = front.env;
    const closed = endpoint({ TEMPORAL_ADDRESS: front.address, ...without });
    await expect(prepareNamespace(closed, 'default', { waitMs: 1_000 })).rejects.toThrow('No Temporal server answers');
    const plain = { address: front.address };
    await expect(prepareNamespace(plain, 'default', { waitMs: 1_000 })).rejects.toThrow('No Temporal server answers');
  });
});

describe('the settings of a connection', () => {
  it('mean TLS as soon as there is a key, and never a key without it', () => {
    expect(endpoint({})).toEqual({ address: 'cluster:7233' });
    expect(endpoint({ TEMPORAL_TLS: 'true' })).toEqual({ address: 'cluster:7233', tls: {} });
    expect(endpoint({ TEMPORAL_API_KEY: 'secret' })).toEqual({ address: 'cluster:7233', tls: {}, apiKey: 'secret' });
    expect(() => endpoint({ TEMPORAL_API_KEY: 'secret', TEMPORAL_TLS: 'false' })).toThrow('never sent without TLS');
  });

  it('say which file is wrong', () => {
    expect(() => endpoint({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'nowhere.pem') })).toThrow(
      /TEMPORAL_TLS_SERVER_CA_CERT_PATH: there is no file .*nowhere\.pem/,
    );
    expect(() => endpoint({ TEMPORAL_TLS_CLIENT_CERT_PATH: front.env.TEMPORAL_TLS_CLIENT_CERT_PATH! })).toThrow(
      'belong together',
    );
  });
});
