import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import type { KennelDeps } from '../../activities/activity-deps.ts';
import { watchServers } from '../../activities/extensions/watch.ts';
import { createFence } from '../../activities/host/fence.ts';
import { sweep, tendHost } from '../../activities/host/tend.ts';
import { HostTaken, keepHost, LEASE_MS, takeHost } from '../../activities/lease.ts';
import { kennelActivities } from '../../activities/queues.ts';
import { createChatTools } from '../../activities/task/chat-tools.ts';
import { workspacesFolder } from '../../activities/task/task-workspace.ts';
import { createBrowsers } from '../../adapters/kennel/browser/browsers.ts';
import { createBrowserGate } from '../../adapters/kennel/gate/browser-gate.ts';
import { openRegistryCache } from '../../adapters/kennel/gate/cache/registry-cache.ts';
import { allowList } from '../../adapters/kennel/gate/egress/allow-list.ts';
import { createGate } from '../../adapters/kennel/gate/gate.ts';
import { openKennel } from '../../adapters/kennel/open-kennel.ts';
import { taskMcp } from '../../adapters/mcp/agent-servers.ts';
import { isPublicAddress } from '../../adapters/web/address-guard.ts';
import type { Config } from '../../config.ts';
import { kennelQueue } from '../../contracts/ids.ts';
import { membersOf } from '../../domain/settings/shapes.ts';
import { loginsOf } from '../../domain/tasks/agents/agent-settings.ts';
import { loginWarning } from '../../domain/tasks/agents/agents.ts';
import { mirrorsOf } from '../../domain/tasks/registries/mirrors.ts';
import type { LeaseHolder } from '../../gateway/channels/channel.ts';
import { createLog } from '../../log.ts';
import type { HostClaim } from '../../store/kennel/hosts.ts';
import type { Db } from '../../store/postgres/database.ts';
import { ensureSecret } from '../instance/home/home.ts';
import { collectKennel } from './metrics/collect.ts';
import { leaseHolder } from './process/lease-holder.ts';
import type { RoleContext } from './process/role-context.ts';
import { activityTraces } from './temporal/activity-traces.ts';
import { drained, graceMs, runToEnd, workerTimings } from './temporal/temporal-runtime.ts';

/**
 * The role of a host that has workspaces and runs containers: follows coding tasks, runs tools of the kennel, holds the
 * gate, and ends containers that nobody needs. Any number of hosts may have one each. It runs without an engine too,
 * and says what is missing.
 */
export async function run({ config, role, alone, store, temporal, native, converter }: RoleContext): Promise<void> {
  const log = createLog('kennel', config.LOG_LEVEL);
  for (const [harness, path] of loginsOf(config.FETCH_KENNEL_LOGINS))
    log.warn({ harness, path }, loginWarning(harness));
  const kennel = openKennel(config);
  const cache = openRegistryCache(config, log);
  const gate = createGate({
    db: store.db,
    settings: config,
    log,
    mirrors: mirrorsOf(config.FETCH_KENNEL_MIRRORS),
    cache,
    zone: () => config.FETCH_TIME_ZONE,
    mcp: (task) =>
      taskMcp({
        db: store.db,
        config,
        kennel,
        ...task,
        // no task is open before this host has its parts
        chat: createChatTools({ db: store.db, config, temporal, site: { ...deps, ...own } }, task.taskId),
      }),
  });
  const browserGate = createBrowserGate({
    log,
    allows: (address) => config.FETCH_ALLOW_PRIVATE_URLS || isPublicAddress(address),
    listed: () => allowList(membersOf(config.FETCH_KENNEL_EGRESS)),
  });
  // log-ins of browsers are stored with it
  if (config.FETCH_ENCRYPTION_KEY === undefined && config.FETCH_BROWSER_SLOTS > 0)
    ensureSecret(config.FETCH_HOME, 'encryption-key');
  const browsers = createBrowsers({ kennel, config, gate: browserGate });
  const host = config.FETCH_KENNEL_HOST;
  const draining = new AbortController();
  const holder = await leaseHolder();
  const claim = { host, identity: await hostIdentity(config.FETCH_HOME), holder: holder.id, ttlMs: leaseMs(config) };
  // two machines of one name would take each other's tasks
  while (!(await hasTaken(store.db, claim, holder, alone ? role.failed : role.waits))) await pause(TAKE_AGAIN_MS);
  const fence = createFence({ db: store.db, config, kennel, gate, host });
  const said = (what: string) => (error: Error) => log.error({ error: error.message }, what);
  const lease = keepHost({
    db: store.db,
    claim,
    log,
    on: {
      lapsed: () => void fence.close().catch(said('containers of this host could not be held')),
      regained: () => void fence.lift().catch(said('containers of this host could not be let go on')),
      taken: () =>
        void fence
          .close()
          .finally(() => role.failed(new HostTaken(`Another process serves the kennel host name "${host}" now.`))),
    },
  });
  const deps: KennelDeps = {
    db: store.db,
    temporal,
    config,
    kennel,
    gate,
    browsers,
    host,
    lease,
    draining: draining.signal,
    log,
  };
  const own = { browsers, workspacesFolder: workspacesFolder(config) };
  const worker = await Worker.create({
    connection: native,
    namespace: config.TEMPORAL_NAMESPACE,
    dataConverter: converter,
    taskQueue: kennelQueue(host),
    activities: await kennelActivities({ ...deps, ...own }),
    ...workerTimings(config),
    interceptors: { activity: activityTraces(store.db) },
    // following is waiting: what a host can hold is bounded by its places for containers
    maxConcurrentActivityTaskExecutions: 200,
  });
  // what went on elsewhere while this host was away is ended before anything is done here
  await Promise.race([Promise.all([fence.lift(), sweep(deps)]), pause(LOOK_BACK_MS)]).catch(
    said('what is left of tasks could not be looked at; the next round does'),
  );
  const stopTending = tendHost({ ...deps, browsers, log });
  const stopWatching = watchServers({ db: store.db, config, log, kennel });
  const running = runToEnd(worker);
  role.onStop(async () => {
    stopTending();
    stopWatching();
    draining.abort();
    await Promise.all([drained([worker], [running]), gate.drain(graceMs(config))]);
    await Promise.all([gate.closeAll(), browsers.closeAll(), kennel.release()]);
    await lease.release();
  });
  collectKennel(config.FETCH_KENNEL_SLOTS, async () => {
    const containers = await kennel.list().catch(() => null);
    return containers?.filter(({ state }) => state !== 'exited').length ?? null;
  });
  role.ready(kennelQueue(host));
  await running;
}

/**
 * A host whose name another machine has ends when it is alone in its process. Otherwise it waits until the name is
 * free: the other roles go on.
 */
async function hasTaken(
  db: Db,
  claim: HostClaim,
  holder: LeaseHolder,
  taken: (error: HostTaken) => unknown,
): Promise<boolean> {
  try {
    await takeHost(db, claim, holder.isDead);
    return true;
  } catch (error) {
    if (!(error instanceof HostTaken)) throw error;
    await taken(error);
    return false;
  }
}
const TAKE_AGAIN_MS = 5_000;

/** An engine that hangs must not keep a host from saying so. */
const LOOK_BACK_MS = 5_000;

/** Shorter than the time after which a task of this host goes on at another one. */
const leaseMs = ({ FETCH_KENNEL_AWAY_SECONDS }: Config): number =>
  Math.min(LEASE_MS, FETCH_KENNEL_AWAY_SECONDS * 5_000);

/**
 * The id of a home as a kennel host: made once, kept beside its run folders. Two homes never have the same one,
 * whatever their hosts are called.
 */
async function hostIdentity(home: string): Promise<string> {
  const folder = join(home, 'kennel');
  const file = join(folder, 'host-id');
  await mkdir(folder, { recursive: true });
  await writeFile(file, `${randomUUID()}\n`, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const id = (await readFile(file, 'utf8')).trim();
  if (id === '') throw new Error(`${file} is empty. Remove it, and a new id is made.`);
  return id;
}
