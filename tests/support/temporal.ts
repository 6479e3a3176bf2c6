import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { temporalCache } from '../../src/cli/instance/instance.ts';
import { childEnvironment } from '../../src/config.ts';
import { devServerArguments } from '../../temporal/dev-server.ts';
import { prepareNamespace } from '../../temporal/namespace.ts';
import { provideTemporal } from '../../temporal/server.ts';
import { freePorts } from './app.ts';
import { until } from './until.ts';

/** A Temporal server of its own with nothing in it, as the embedded one is started, without the rest of an instance. */
export interface TestTemporal {
  address: string;
  client: Client;
  close(): Promise<void>;
}

export async function startTestTemporal(): Promise<TestTemporal> {
  const home = mkdtempSync(join(tmpdir(), 'fetch-temporal-'));
  const env = childEnvironment({});
  const binary = await provideTemporal({ home, cache: temporalCache(env), env });
  const [port, uiPort] = await freePorts(2);
  const args = devServerArguments({
    home,
    server: binary.server,
    port: port!,
    ui: { ip: '127.0.0.1', port: uiPort! },
    namespace: 'default',
  });
  const server = spawn(binary.path, args, { env, stdio: 'ignore' });
  const address = `127.0.0.1:${port}`;
  await prepareNamespace(address, 'default');
  const connection = await Connection.connect({ address });
  return {
    address,
    client: new Client({ connection }),
    async close() {
      await connection.close();
      server.kill('SIGTERM');
      await until(
        'the Temporal server has stopped',
        () => server.exitCode !== null || server.signalCode !== null,
        15_000,
      );
      rmSync(home, { recursive: true, force: true });
    },
  };
}
