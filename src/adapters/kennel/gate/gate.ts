import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Agent } from 'undici';
import { type TaskBudget, type TaskUsed, taskUse } from '../../../domain/model/budgets.ts';
import type { MirrorAddress } from '../../../domain/tasks/registries/mirrors.ts';
import { addRefusals, addTraffic } from '../../../store/kennel/egress.ts';
import { noteAsk, rulesOfTask } from '../../../store/kennel/egress-rules.ts';
import { addTaskUsage, budgetsOfTask } from '../../../store/kennel/tasks/usage.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { forgetLimit, limitOf, mayTryLimit, noteLimit, noteRefusal } from '../../../store/turns/limits.ts';
import { KeyedMutex } from '../../keyed-mutex.ts';
import { type AddressRule, isPublicAddress, type Resolver, systemResolver } from '../../web/address-guard.ts';
import type { RegistryCache } from './cache/registry-cache.ts';
import { type Admission, type AdmissionStore, createAdmission } from './egress/admission.ts';
import { type AllowList, allowList, type Target } from './egress/allow-list.ts';
import { EgressProxy, type Traffic } from './egress/egress-proxy.ts';
import { createRefusedHosts, createTrafficCount, type RefusedHosts, type TrafficCount } from './egress/traffic.ts';
import { type HostGate, openHostGate } from './host-gate.ts';
import { Ledger } from './model/ledger.ts';
import { createLimits, type LimitStore } from './model/limits.ts';
import { ModelProxy } from './model/model-proxy.ts';
import { type UpstreamSettings, upstreamsOf } from './model/upstreams.ts';
import { createSlots } from './slots.ts';
import { openSocketFolder, type SocketFolder } from './socket.ts';

interface GateTask {
  taskId: string;
  /** folder on the host for `model.sock` and `egress.sock`; created if needed */
  folder: string;
  budget: TaskBudget;
  /** hosts besides the model: `example.com`, `*.example.com`, `example.com:8443` */
  allow: readonly string[];
  /** The workspace whose rules also count. Without it other hosts are refused, and no question is asked. */
  at?: { host: string; workspace: string };
  /** The thread of the task, whose owner may have MCP servers for agents. Without it there are none. */
  threadId?: string;
}

/**
 * The only ways out of containers: some unix sockets for each task, and no port. A host has one gate. After a restart
 * it is opened again for every live task.
 */
export interface Gate {
  /**
   * Opens the sockets of a task, or gives an open task another budget and allow-list. Throws for a wrong entry of
   * `allow`, and when no socket can be created.
   */
  open(task: GateTask): Promise<void>;
  /** Cuts running calls, stores what was counted and removes the sockets. Does nothing for a task that is not open. */
  close(taskId: string): Promise<void>;
  /**
   * Opens a way out for a container of no task, with the mirrors and the cache of this host: to these hosts and no
   * other. `home`: FETCH_HOME.
   */
  openWay(home: string, hosts: readonly string[]): Promise<HostGate>;
  openTasks(): string[];
  /** Bytes through the tunnels of an open task; null for another. */
  traffic(taskId: string): Traffic | null;
  /**
   * Accepts no more calls, and lets running ones end within this time. A call that is cut is paid for, and the agent
   * repeats it.
   */
  drain(ms: number): Promise<void>;
  /** Keeps what this host stores within its limits. */
  sweep(): Promise<void>;
  /** Closes every task, at the end of the process. */
  closeAll(): Promise<void>;
}

export interface GateDeps {
  db: Db;
  settings: UpstreamSettings;
  log: Logger;
  times?: Partial<GateTimes>;
  /** which addresses tunnels may lead to; public ones by default */
  allows?: AddressRule;
  /** servers of the owner, which may have private addresses */
  mirrors?: readonly MirrorAddress[];
  /** what is kept of package registries; without it, all of it goes through tunnels */
  cache?: RegistryCache | null;
  resolve?: Resolver;
  /** the time zone of the owner, by which a day of a budget begins */
  zone?: () => string;
  /** the MCP servers of the owner for a task; without it agents get none */
  mcp?: (task: { taskId: string; threadId: string; admission: Admission; log: Logger }) => TaskMcp;
}

/** The MCP servers of the owner, for one task. */
export interface TaskMcp {
  server: Server;
  /** ends running calls */
  cut(): void;
}

/** Milliseconds. */
interface GateTimes {
  /** until the first byte of a model's answer; without streaming, that is when the answer is complete */
  modelHeaders: number;
  /** between two parts of a model's answer */
  modelIdle: number;
  /** between two parts of it that are no signs of life */
  modelSigns: number;
  egressIdle: number;
  /** how long a call waits for a store that does not answer before it is refused */
  storeWait: number;
  /** how long `close` waits for it */
  settle: number;
}

const TIMES: GateTimes = {
  modelHeaders: 600_000,
  modelIdle: 300_000,
  modelSigns: 600_000,
  egressIdle: 600_000,
  storeWait: 30_000,
  settle: 10_000,
};
const LOOKUPS = 2;

interface Open {
  folder: string;
  sockets: SocketFolder;
  model: ModelProxy;
  egress: EgressProxy;
  mcp: TaskMcp | null;
  ledger: Ledger;
  traffic: TrafficCount;
  refused: RefusedHosts;
  allowed: AllowList;
}

export function createGate({
  db,
  settings,
  log,
  times,
  allows = isPublicAddress,
  mirrors = [],
  cache = null,
  zone = () => 'UTC',
  resolve = systemResolver,
  mcp,
}: GateDeps): Gate {
  const mirrorAt = (target: Target): MirrorAddress | undefined =>
    mirrors.find(({ host, port }) => host === target.host && port === target.port);
  const reach = {
    allows: (address: string, target: Target) => allows(address) || mirrorAt(target) !== undefined,
    isMirror: (target: Target) => mirrorAt(target) !== undefined,
    isPlain: (target: Target) => mirrorAt(target)?.plain === true,
  };
  const time = { ...TIMES, ...times };
  const dispatcher = new Agent({ connect: { timeout: 30_000 }, pipelining: 1 });
  const lookups = createSlots(LOOKUPS);
  const tasks = new Map<string, Open>();
  // a task's open and close never overlap
  const turns = new KeyedMutex();

  async function usedBy(taskId: string): Promise<TaskUsed> {
    const facts = await budgetsOfTask(db, taskId, zone());
    if (!facts) throw new Error(`Task ${taskId} is not in the database.`);
    return taskUse(facts);
  }

  async function open(task: GateTask): Promise<void> {
    const allowed = allowList(task.allow);
    const known = tasks.get(task.taskId);
    if (
      known &&
      known.folder === task.folder &&
      known.sockets.has('model.sock') &&
      known.sockets.has('egress.sock') &&
      (!known.mcp || known.sockets.has('mcp.sock'))
    ) {
      known.allowed = allowed;
      known.ledger.setBudget(task.budget);
      return;
    }
    if (known) await shut(task.taskId);
    const taskLog = log.child({ taskId: task.taskId });
    const ledger = new Ledger(
      {
        usage: () => usedBy(task.taskId),
        add: (rows) => addTaskUsage(db, task.taskId, rows, zone()),
      },
      task.budget,
      time.storeWait,
    );
    const refused = createRefusedHosts((rows) => addRefusals(db, task.taskId, rows));
    const limits = createLimits(limitStore(db, task.taskId));
    const model = new ModelProxy({
      // keys and endpoints may change while it is open
      upstreams: () => upstreamsOf(settings),
      ledger,
      limits,
      dispatcher,
      headersMs: time.modelHeaders,
      idleMs: time.modelIdle,
      signsMs: time.modelSigns,
      log: taskLog,
    });
    const traffic = createTrafficCount((rows) => addTraffic(db, task.taskId, rows));
    const admission = createAdmission({
      listed: () => opened.allowed,
      store: task.at ? admissionStore(db, { id: task.taskId, ...task.at }) : null,
    });
    const egress = new EgressProxy({
      ...reach,
      admission,
      cache,
      traffic,
      resolve,
      lookups,
      refused,
      idleMs: time.egressIdle,
      log: taskLog,
    });
    const served =
      mcp && task.threadId !== undefined
        ? mcp({ taskId: task.taskId, threadId: task.threadId, admission, log: taskLog })
        : null;
    const sockets = openSocketFolder(task.folder);
    const opened: Open = {
      folder: task.folder,
      sockets,
      model,
      egress,
      mcp: served,
      ledger,
      traffic,
      refused,
      allowed,
    };
    try {
      await sockets.listen(model.server, 'model.sock');
      await sockets.listen(egress.server, 'egress.sock');
      if (served) await sockets.listen(served.server, 'mcp.sock');
    } catch (error) {
      await stopped(opened);
      throw error;
    }
    // one connection that cannot be accepted must not end the others
    for (const server of serversOf(opened))
      server.on('error', (error) => taskLog.warn({ error: error.message }, 'a socket of the gate failed'));
    tasks.set(task.taskId, opened);
  }

  async function shut(taskId: string): Promise<void> {
    const task = tasks.get(taskId);
    if (!task) return;
    tasks.delete(taskId);
    await stopped(task);
    const [stored] = await Promise.all([task.ledger.settle(time.settle), task.refused.settle(), task.traffic.settle()]);
    if (!stored) log.error({ taskId }, 'the usage of the last calls of a task could not be stored');
  }

  return {
    open: (task) => turns.run(task.taskId, () => open(task)),
    close: (taskId) => turns.run(taskId, () => shut(taskId)),
    openWay: (home, hosts) => openHostGate(home, hosts, { ...reach, cache, resolve, lookups }),
    openTasks: () => [...tasks.keys()],
    traffic: (taskId) => tasks.get(taskId)?.egress.traffic() ?? null,
    async drain(ms) {
      const idle = [...tasks.values()].map(({ model }) => {
        model.close();
        return model.idle();
      });
      await Promise.race([Promise.all(idle), pause(ms, undefined, { ref: false })]);
    },
    sweep: async () => await cache?.sweep(),
    async closeAll() {
      await Promise.all([...tasks.keys()].map((taskId) => turns.run(taskId, () => shut(taskId))));
      await dispatcher.destroy();
    },
  };
}

function admissionStore(db: Db, task: { id: string; host: string; workspace: string }): AdmissionStore {
  // one after the other: counting what was asked for and adding to it must not interleave
  const asking = new KeyedMutex();
  return {
    rules: () => rulesOfTask(db, task),
    ask: (target, tool) => asking.run(task.id, () => noteAsk(db, task.id, target, tool)),
  };
}

const limitStore = (db: Db, taskId: string): LimitStore => ({
  known: (at) => limitOf(db, at),
  mayTry: (at, forMs) => mayTryLimit(db, at, forMs),
  refused: async (at, refused) => await noteRefusal(db, taskId, await noteLimit(db, at, refused)),
  held: (limit) => noteRefusal(db, taskId, limit),
  answered: async (at, wasLimited) => {
    if (wasLimited) await forgetLimit(db, at);
    await noteRefusal(db, taskId, null);
  },
});

const serversOf = ({ model, egress, mcp }: Open): Server[] => [
  model.server,
  egress.server,
  ...(mcp ? [mcp.server] : []),
];

async function stopped(open: Open): Promise<void> {
  const { model, egress, mcp, sockets } = open;
  const cut = egress.cut();
  mcp?.cut();
  await Promise.all(
    serversOf(open).map(
      (server) =>
        new Promise<void>((done) => {
          server.close(() => done());
          server.closeAllConnections();
        }),
    ),
  );
  await cut;
  await model.idle();
  sockets.close();
}
