import { existsSync, type FSWatcher, mkdirSync, watch } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { factsOf, imageOf } from '../../../kennel/agents/registry.ts';
import { gitIdentityOfUser } from '../../adapters/github/host-git.ts';
import type { Browsers } from '../../adapters/kennel/browser/browsers.ts';
import { loginProblem } from '../../adapters/kennel/login.ts';
import { runFolder, runsFolder } from '../../adapters/kennel/run-folders.ts';
import { dropSkillFolders } from '../../adapters/kennel/skill-folders.ts';
import { emptyTrash, findWorkspaces, identified } from '../../adapters/workspaces.ts';
import { AGENT_NAMES, type AgentName } from '../../contracts/kennel.ts';
import type { Author } from '../../contracts/workspace-ops.ts';
import { loginsOf } from '../../domain/tasks/agents/agent-settings.ts';
import { missingFor } from '../../domain/tasks/agents/agents.ts';
import { HOUR } from '../../domain/time.ts';
import { isCurrentConversation } from '../../store/chats/conversation-start.ts';
import { reportHost } from '../../store/kennel/hosts.ts';
import { findTask, isOver, liveTaskIds, liveTasksOf } from '../../store/kennel/tasks/tasks.ts';
import { leftOver, markDropped } from '../../store/kennel/tasks/together.ts';
import { markEnded } from '../../store/kennel/workspaces/apps.ts';
import { recordWorkspaces } from '../../store/kennel/workspaces/workspaces.ts';
import { agreedHashes } from '../../store/turns/turn-extensions.ts';
import { dropBranch } from '../../tools/tasks/bring.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { openGate } from '../task/gate.ts';
import { dropOldRuns, forgetRun, gateFolder } from '../task/run/folder.ts';
import { workspacesFolder } from '../task/task-workspace.ts';
import { tellEnd } from './ended-app.ts';
import { GitRefresher } from './git-state.ts';
import { readGroupNotes } from './group-notes.ts';
import { MapMaker } from './maps.ts';

/** Entries come one after the other, such as those of a folder that is copied. */
const SETTLE_MS = 50;

/**
 * Calls `changed` soon after something was put into a folder or taken from it. A folder that cannot be watched is not
 * an error. Returns a function that stops it.
 */
export function watchEntries(folder: string, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  try {
    mkdirSync(folder, { recursive: true });
    watcher = watch(folder, { persistent: false }, () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        changed();
      }, SETTLE_MS).unref();
    });
    watcher.on('error', () => watcher?.close());
  } catch {
    // the system has no more watches, or the disk is read-only: the caller looks again by itself
  }
  return () => {
    clearTimeout(timer);
    watcher?.close();
  };
}

const EVERY_MS = 5_000;
const WAIT_MS = 500;

/** How often records of old runs are looked for. */
const DROP_EVERY_MS = HOUR;

/** State of a host between two rounds. */
type Tending = KennelDeps & {
  browsers: Browsers;
  log: Logger;
  /** tasks whose remains were checked after their end */
  forgotten: Set<string>;
  /** when old records were last looked for */
  droppedAt: number;
  /** the sockets that an earlier process left are removed */
  socketsCleared: boolean;
  stopped: boolean;
  /** calls whose apps ran in the round before; null before the first */
  apps: string[] | null;
  /** read once: it changes seldom */
  git: Promise<Author | null>;
  maps: MapMaker;
  looks: GitRefresher;
  timer?: NodeJS.Timeout;
  /** one listing of the workspaces after the other, so that an older one never overwrites a newer one */
  listing: Promise<void>;
};

const LIST = 'list the workspaces';
const chores = {
  'report this host': report,
  [LIST]: listWorkspaces,
  'open gates': reopen,
  'end containers': sweep,
  'end browsers': endBrowsers,
  'look after apps': tendApps,
  'begin a map': ({ maps }: Tending) => maps.begin(),
  'read the notes of groups': readGroupNotes,
  'look at a workspace again': ({ looks }: Tending) => looks.begin(),
  'forget what tasks left': forget,
  'empty the trash': clear,
};

/**
 * What a host does by itself every few seconds: reports that it lives and what it can do, lists its workspaces, opens
 * the gate of tasks that an earlier process began, ends containers of tasks that are over, makes maps of repositories and
 * looks at workspaces again. Returns a function that stops it.
 */
export function tendHost(deps: KennelDeps & { browsers: Browsers; log: Logger }): () => void {
  const none = {
    forgotten: new Set<string>(),
    droppedAt: 0,
    socketsCleared: false,
    stopped: false,
    apps: null,
    listing: Promise.resolve(),
  };
  const tending: Tending = {
    ...deps,
    ...none,
    git: gitIdentityOfUser(),
    maps: new MapMaker(deps),
    looks: new GitRefresher(deps),
  };
  void round(tending);
  // a person who puts a folder there goes on typing its name
  const unwatch = watchEntries(workspacesFolder(deps.config), () => tending.lease.held() && void did(tending, LIST));
  return () => {
    tending.stopped = true;
    unwatch();
    clearTimeout(tending.timer);
  };
}

async function round(tending: Tending): Promise<void> {
  // without the lease nobody knows whose tasks these are, so nothing is opened, removed or reported
  const held = tending.lease.held();
  if (held) await doChores(tending);
  if (!tending.stopped) tending.timer = setTimeout(() => void round(tending), held ? EVERY_MS : WAIT_MS);
}

async function doChores(tending: Tending): Promise<void> {
  if (!tending.socketsCleared)
    tending.socketsCleared = await clearSockets(tending).then(
      () => true,
      () => false,
    );
  for (const what of Object.keys(chores) as Array<keyof typeof chores>) await did(tending, what);
}

async function did(tending: Tending, what: keyof typeof chores): Promise<void> {
  await chores[what](tending).catch((error: Error) =>
    tending.log.warn({ error: error.message }, `could not ${what}; the next round tries again`),
  );
}

const imageMissing = (name: AgentName, found: boolean | undefined): string | null =>
  imageOf(name) && !found ? `${factsOf(name).label} needs its image ${imageOf(name)!.name} on this machine.` : null;

async function report({ db, config, kennel, host, git }: Tending): Promise<void> {
  const problem = await kennel.ready().then(
    () => null,
    (error: Error) => error.message,
  );
  const allowed = config.FETCH_KENNEL_AGENTS.split(',').map((name) => name.trim());
  const logins = loginsOf(config.FETCH_KENNEL_LOGINS);
  const found =
    problem === null ? await Promise.all(AGENT_NAMES.map((name) => kennel.has(name).catch(() => false))) : [];
  const harnesses = AGENT_NAMES.map((name, at) => {
    const login = logins.get(name);
    const lacks =
      imageMissing(name, found[at]) ?? (login === undefined ? missingFor(name, config) : loginProblem(name, login));
    const why = !allowed.includes(name) ? `${factsOf(name).label} is not allowed here.` : lacks;
    return { name, ready: why === null, why };
  });
  await reportHost(db, {
    host,
    slots: config.FETCH_KENNEL_SLOTS,
    ready: problem === null,
    problem,
    harnesses,
    git: await git,
  });
}

/** A folder that a person put there is a workspace too, so the folders decide and not the table. */
function listWorkspaces(tending: Tending): Promise<void> {
  tending.listing = tending.listing.catch(() => {}).then(() => showWorkspaces(tending));
  return tending.listing;
}

async function showWorkspaces({ db, config, host }: KennelDeps): Promise<void> {
  const { workspaces } = await findWorkspaces(workspacesFolder(config));
  await recordWorkspaces(db, host, await identified(workspaces));
}

async function reopen(deps: KennelDeps): Promise<void> {
  const open = new Set(deps.gate.openTasks());
  const live = await liveTasksOf(deps.db, deps.host);
  for (const task of live) if (task.step > 0 && !open.has(task.id)) await openGate(deps, task);
  // tasks that ended while their gate was being opened here
  const ids = new Set(live.map((task) => task.id));
  for (const id of open) if (!ids.has(id)) await deps.gate.close(id);
}

/** Removes sockets of tasks that ended while a process that is now dead opened their gate. */
async function clearSockets({ db, config }: KennelDeps): Promise<void> {
  // listed before the tasks are read, so that a task that begins in between is not touched
  const begun = await readdir(runsFolder(config)).catch(() => []);
  // tasks of every host: several may share a home on a common disk
  const live = await liveTaskIds(db);
  for (const id of begun) if (!live.has(id)) await rm(gateFolder(config, id), { recursive: true, force: true });
}

/**
 * An app that ended by itself is told to its chat. Each that has ended is marked, so that `status` does not name it.
 */
async function tendApps(tending: Tending): Promise<void> {
  const { db, kennel, host, apps } = tending;
  const running = (await kennel.apps.tend((app) => tellEnd(tending, app)))
    .filter(({ state }) => state === 'running')
    .map(({ callId }) => callId);
  await markEnded(db, host, running, apps);
  tending.apps = running;
}

export async function sweep({
  db,
  kennel,
  gate,
  host,
}: Pick<KennelDeps, 'db' | 'kennel' | 'gate' | 'host'>): Promise<void> {
  await kennel.sweep();
  for (const container of await kennel.list()) {
    const task = await findTask(db, container.taskId);
    // a task that moved while this host was away must not also work here
    if (task && !isOver(task.state) && task.host === host) continue;
    await kennel.remove(container.taskId);
    await gate.close(container.taskId);
  }
}

/** Ends the browsers of conversations that are over, such as at `/new`. */
function endBrowsers({ browsers, db }: Tending): Promise<void> {
  return browsers.tend((conversation) => isCurrentConversation(db, conversation));
}

/**
 * Removes sessions and log-ins of an agent that a task left behind because it ended while this host was away, or
 * because its end could not remove everything.
 */
async function forget({ db, config, kennel, forgotten }: Tending): Promise<void> {
  const begun = (await readdir(runsFolder(config)).catch(() => [])).filter((id) => !forgotten.has(id));
  if (begun.length === 0) return;
  // read after the folders were listed: a task that begins in between counts as live
  const live = await liveTaskIds(db);
  const over = begun.filter((id) => !live.has(id));
  if (over.length === 0) return;
  const running = new Set((await kennel.list()).map(({ taskId }) => taskId));
  const left: unknown[] = [];
  for (const id of over) {
    if (running.has(id)) continue;
    // a folder that cannot be removed is reported once
    forgotten.add(id);
    await forgetRun(runFolder(config, id)).catch((error) => left.push(error));
  }
  if (left.length > 0) throw left[0];
}

/** The branches of attempts that were not chosen a day ago. */
async function dropAttempts({ db, config, kennel, host }: Tending): Promise<void> {
  const left = await leftOver(db, host);
  for (const task of left) {
    const folder = join(workspacesFolder(config), task.workspace);
    if (task.result?.changes?.branch && existsSync(folder))
      await dropBranch(kennel, folder, task.result.changes.branch);
  }
  await markDropped(db, [...new Set(left.map((task) => task.race_id!))]);
}

async function clear(deps: Tending): Promise<void> {
  const { db, config, kennel } = deps;
  await emptyTrash(workspacesFolder(config), Date.now());
  if (Date.now() - deps.droppedAt < DROP_EVERY_MS) return;
  deps.droppedAt = Date.now();
  await dropOldRuns(runsFolder(config), await liveTaskIds(db));
  await dropAttempts(deps);
  await kennel.prune();
  await dropSkillFolders(config.FETCH_HOME, new Set(await agreedHashes(db)));
  await deps.gate.sweep();
}
