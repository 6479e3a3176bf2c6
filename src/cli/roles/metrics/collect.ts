import type { Client } from '@temporalio/client';
import type { Config } from '../../../config.ts';
import { AGENT_QUEUE, BACKGROUND_QUEUE, gatewayQueue, kennelQueue } from '../../../contracts/ids.ts';
import { readFigures } from '../../../store/home/operations.ts';
import { listHosts } from '../../../store/kennel/hosts.ts';
import type { Store } from '../../../store/postgres/database.ts';
import { readAccount } from '../../../store/whatsapp/account.ts';
import {
  databaseConnections,
  databaseWaiting,
  kennelSlots,
  kennelSlotsUsed,
  roleReady,
} from '../../../telemetry/metrics.ts';
import { onScrape } from '../../../telemetry/registry.ts';
import * as shown from '../../../telemetry/store-metrics.ts';
import { queueStats } from '../../instance/connections/queue-stats.ts';
import { keptBackups } from '../../instance/home/kept-backups.ts';
import type { OwnRole } from '../../instance/home/state-file.ts';
import type { RoleState } from '../process/health.ts';

/** Metrics of every process. */
export function collectProcess(store: Store, states: ReadonlyMap<OwnRole, RoleState>): void {
  onScrape(() => {
    const { used, idle, waiting } = store.connections();
    databaseConnections.set({ state: 'used' }, used);
    databaseConnections.set({ state: 'idle' }, idle);
    databaseWaiting.set({}, waiting);
    for (const [role, state] of states) roleReady.set({ role }, state === 'ready' ? 1 : 0);
  });
}

/**
 * What the api role says of the whole. While the database or the server is away, its series end: old figures would look
 * like new ones.
 */
export function collectStore(config: Config, { db }: Store, temporal: Client): void {
  onScrape(async () => {
    for (const each of [
      shown.openQuestions,
      shown.activeTurns,
      shown.tasks,
      shown.unsignalled,
      shown.unsignalledAge,
      shown.unsent,
      shown.unsentAge,
    ])
      each.clear();
    const { openQuestions, activeTurns, inbox, outbox, tasks } = await readFigures(db);
    shown.openQuestions.set({}, openQuestions);
    shown.activeTurns.set({}, activeTurns);
    shown.unsignalled.set({}, inbox.count);
    shown.unsignalledAge.set({}, inbox.seconds);
    for (const state of ['queued', 'running', 'waiting', 'paused'] as const)
      shown.tasks.set({ state }, tasks.find((task) => task.state === state)?.count ?? 0);
    for (const { channel, count, seconds } of outbox) {
      shown.unsent.set({ channel }, count);
      shown.unsentAge.set({ channel }, seconds);
    }
  });
  onScrape(async () => {
    for (const each of [shown.whatsappState, shown.whatsappNeeds]) each.clear();
    const account = await readAccount(db, 'default');
    if (!account || account.wanted === 'off') return;
    for (const state of ['initializing', 'qr_pending', 'authenticated', 'disconnected', 'error'] as const)
      shown.whatsappState.set({ state }, account.state === state ? 1 : 0);
    shown.whatsappNeeds.set({}, account.needs === null ? 0 : 1);
  });
  onScrape(async () => {
    for (const each of [shown.kennelHosts, shown.queueBacklog, shown.queueAge, shown.queuePollers]) each.clear();
    const hosts = await listHosts(db);
    const count = (state: string, here: typeof hosts) => shown.kennelHosts.set({ state }, here.length);
    count(
      'ready',
      hosts.filter(({ alive, ready }) => alive && ready),
    );
    count(
      'no_engine',
      hosts.filter(({ alive, ready }) => alive && !ready),
    );
    count(
      'gone',
      hosts.filter(({ alive }) => !alive),
    );
    const queues = [
      AGENT_QUEUE,
      BACKGROUND_QUEUE,
      gatewayQueue('whatsapp'),
      ...(config.FETCH_TELEGRAM_TOKEN ? [gatewayQueue('telegram')] : []),
      ...hosts.filter(({ alive }) => alive).map(({ host }) => kennelQueue(host)),
    ];
    for (const { queue, kind, backlog, ageSeconds, pollers } of await queueStats(
      temporal,
      config.TEMPORAL_NAMESPACE,
      queues,
    )) {
      const labels = { task_queue: queue, kind };
      shown.queueBacklog.set(labels, backlog);
      shown.queueAge.set(labels, ageSeconds);
      shown.queuePollers.set(labels, pollers);
    }
  });
}

/** Read at each scrape from the folder, which another process writes to. Returns a function that ends it. */
export function collectBackups({ FETCH_BACKUP_FOLDER: folder }: Pick<Config, 'FETCH_BACKUP_FOLDER'>): () => void {
  if (!folder) return () => {};
  return onScrape(() => {
    const [newest] = keptBackups(folder);
    shown.backupAge.set({}, newest ? (Date.now() - newest.at.getTime()) / 1000 : Number.POSITIVE_INFINITY);
  });
}

/** Metrics of a kennel host. `running`: the containers of tasks; null while no engine answers. */
export function collectKennel(slots: number, running: () => Promise<number | null>): void {
  onScrape(async () => {
    kennelSlots.set({}, slots);
    kennelSlotsUsed.clear();
    const used = await running();
    if (used !== null) kennelSlotsUsed.set({}, used);
  });
}
