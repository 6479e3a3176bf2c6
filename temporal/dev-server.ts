import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compareVersions } from './version.ts';

const minor = (server: string): string => server.split('.').slice(0, 2).join('.');

/** The dev server makes its schema only in a new file and never migrates one: each minor version gets a file of its own. */
export const databaseFile = (home: string, server: string): string => join(home, `temporal-${minor(server)}.sqlite`);

/** Minor version (`1.29`) of the newest server database in this home, or null. */
export function databaseVersion(home: string): string | null {
  let files: string[] = [];
  try {
    files = readdirSync(home);
  } catch {
    return null;
  }
  const versions = files.flatMap((file) => /^temporal-(\d+\.\d+)\.sqlite$/.exec(file)?.[1] ?? []);
  return versions.sort(compareVersions).at(-1) ?? null;
}

/** Arguments of the embedded Temporal server. */
export function devServerArguments(options: { home: string; server: string; port: number; ui: { ip: string; port: number }; namespace: string }): string[] {
  return [
    'server',
    'start-dev',
    // it has no authentication: loopback only
    ...['--ip', '127.0.0.1', '--port', String(options.port), '--ui-ip', options.ui.ip, '--ui-port', String(options.ui.port)],
    // it has an HTTP API as well, on a port of its choice: no host is one that it answers to
    ...['--dynamic-config-value', 'frontend.httpAllowedHosts=["nobody.invalid"]'],
    // without a file everything is lost on exit
    ...['--db-filename', databaseFile(options.home, options.server)],
    ...['--namespace', options.namespace],
    // The dev server has one history shard, and a shard polls its transfer and timer queues at most 20 times a second by
    // default: every dispatch would wait for the next slot of 50 ms, so a durable step would cost 100 ms on any machine.
    // 300 ms a turn become 125 ms.
    ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=2000'],
    ...['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=2000'],
    // Hands the next activity to the worker in the reply to its workflow task instead of through a queue: 107 ms a turn become 48 ms.
    ...['--dynamic-config-value', 'system.enableActivityEagerExecution=true'],
    // A write-ahead log, synced at every commit: a power cut takes nothing that was acknowledged. A turn without tools has six or seven
    // syncs, which is 1.3 ms of its 50 on a disk that syncs in 0.2 ms (docs/performance.md).
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=FULL'],
    ...['--log-format', 'json', '--log-level', 'warn'],
  ];
}
