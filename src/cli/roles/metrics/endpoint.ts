import { createServer, type Server } from 'node:http';
import type { Config } from '../../../config.ts';
import { onUntranslated } from '../../../domain/texts/say.ts';
import { VERSION } from '../../../installation.ts';
import { createLog } from '../../../log.ts';
import { buildInfo, untranslated } from '../../../telemetry/metrics.ts';
import { scrape, startCounting } from '../../../telemetry/registry.ts';
import type { OwnRole } from '../../instance/home/state-file.ts';
import { freePort } from '../../instance/servers/ports.ts';

/** Shorter than the ten seconds that Prometheus waits by default. */
const PART_MS = 4_000;
/** Each process of a machine has a port of its own, and keeps it after a restart. */
const OFFSETS: Readonly<Record<OwnRole, number>> = { gateway: 0, worker: 1, api: 2, kennel: 3 };

/** The metrics of one process: ours, and behind them those of Temporal's SDK. */
interface MetricsEndpoint {
  /** where the SDK is to show its own, for this process only */
  sdkAddress: string;
  close(): Promise<void>;
}

export const metricsPort = (first: number, roles: readonly OwnRole[]): number =>
  first + OFFSETS[roles.includes('gateway') ? 'gateway' : roles[0]!];

/**
 * Opens the port, or returns null where none is set. A port that is taken is logged and ends nothing: a process works
 * without being watched.
 */
export async function openMetrics(config: Config, roles: readonly OwnRole[]): Promise<MetricsEndpoint | null> {
  if (config.FETCH_METRICS_PORT === undefined) return null;
  const log = createLog('metrics', config.LOG_LEVEL);
  // the SDK cannot say which port it got, so one is chosen for it
  const sdkAddress = `127.0.0.1:${await freePort('127.0.0.1')}`;
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics')
      return void response.writeHead(404).end('GET /metrics\n');
    void metricsText(sdkAddress).then(
      (text) => response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  const port = metricsPort(config.FETCH_METRICS_PORT, roles);
  try {
    await listening(server, port, config.FETCH_METRICS_HOST);
  } catch (error) {
    log.error(
      { port, error: (error as Error).message },
      'no metrics: the port cannot be opened. Change FETCH_METRICS_PORT',
    );
    return null;
  }
  startCounting();
  // two letters: a closed list
  onUntranslated((tag) => untranslated.add({ language: /^[a-z]{2}$/.test(tag) ? tag : 'other' }));
  buildInfo.set({ version: VERSION }, 1);
  return {
    sdkAddress,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function metricsText(sdkAddress: string): Promise<string> {
  const [ours, sdk] = await Promise.all([
    scrape(PART_MS),
    fetch(`http://${sdkAddress}/metrics`, { signal: AbortSignal.timeout(PART_MS) }).then(
      (response) => response.text(),
      () => '',
    ),
  ]);
  return ours + sdk;
}

const listening = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
