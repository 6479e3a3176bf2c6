import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compareVersions } from './version.ts';

const minor = (server: string): string => server.split('.').slice(0, 2).join('.');

/**
 * The dev server creates its schema only in a new file and never migrates one, so each minor version has its own file.
 */
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
export function devServerArguments(options: {
  home: string;
  server: string;
  port: number;
  ui: { ip: string; port: number };
  namespace: string;
}): string[] {
  return [
    'server',
    'start-dev',
    // it has no authentication, so it listens on loopback only
    ...[
      '--ip',
      '127.0.0.1',
      '--port',
      String(options.port),
      '--ui-ip',
      options.ui.ip,
      '--ui-port',
      String(options.ui.port),
    ],
    // without a host: the proxy before the UI answers at whatever address the browser knows it by, so that its cookie
    // counts
    ...['--ui-codec-endpoint', '/codec'],
    // it also has an HTTP API on a random port; this makes it answer to no host name
    ...['--dynamic-config-value', 'frontend.httpAllowedHosts=["nobody.invalid"]'],
    // without a file everything is lost on exit
    ...['--db-filename', databaseFile(options.home, options.server)],
    ...['--namespace', options.namespace],
    // The dev server has one history shard. By default a shard polls its transfer and timer queues at most 20 times a
    // second, so every dispatch would wait for the next slot of 50 ms, and a durable step would cost 100 ms on any
    // machine. This brings a turn from 300 ms to 125 ms.
    ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=2000'],
    ...['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=2000'],
    // Gives the worker its next activity in the reply to the workflow task and not through a queue. This brings a turn
    // from 107 ms to 48 ms.
    ...['--dynamic-config-value', 'system.enableActivityEagerExecution=true'],
    // Priorities (src/contracts/ids.ts) count only with this. `matching.enableFairness` would store tasks in
    // another table, and leave those that wait now.
    ...['--dynamic-config-value', 'matching.useNewMatcher=true'],
    // How late the server says that a queue has something: five seconds by default. The first routine run waits for it
    // (src/cli/roles/worker.ts).
    ...['--dynamic-config-value', 'matching.TaskQueueInfoByBuildIdTTL="1s"'],
    // Each workflow that it keeps in memory takes some 60 KB of the server, asleep or not; by default it keeps 128,000
    // of them for an hour. Others are read from the file when they are needed.
    ...['--dynamic-config-value', 'history.hostLevelCacheMaxSize=500'],
    // A write-ahead log that is synced at every commit, so that a power cut loses nothing that was acknowledged. A turn
    // without tools has six or seven syncs: 1.3 ms of its 50 on a disk that syncs in 0.2 ms (docs/reliability.md).
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=FULL'],
    ...['--log-format', 'json', '--log-level', 'warn'],
  ];
}
