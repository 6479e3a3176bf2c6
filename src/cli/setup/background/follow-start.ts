import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { UserError } from '../../../contracts/user-error.ts';
import { homeHolder } from '../../instance/home/start-lock.ts';
import { liveRunState, type RoleName, type RoleStatus, type RunState } from '../../instance/home/state-file.ts';
import { tailOf } from '../../instance/logs/logs.ts';
import { logFile } from '../../instance/logs/role-log.ts';
import type { Reporter } from '../../instance/progress.ts';

const LOOK_MS = 50;
/** Between two claims, or until a service manager has begun. */
const NOBODY_MS = 3_000;
/** Downloads are done before, so a start that is not ready by then needs a person. */
const PATIENCE_MS = 180_000;
const NAMES: Record<RoleName, string> = {
  temporal: 'Temporal server',
  postgres: 'PostgreSQL',
  worker: 'worker',
  gateway: 'gateway',
  api: 'API',
  kennel: 'kennel',
};
const SERVERS: readonly RoleName[] = ['temporal', 'postgres'];
const NEEDED: readonly RoleName[] = ['worker', 'gateway', 'api'];

/** The present end of the home's log: what a start says comes after it. */
export const logEnd = (home: string): number => statSync(logFile(home, 'fetch'), { throwIfNoEntry: false })?.size ?? 0;

interface Following {
  home: string;
  report: Reporter;
  signal: AbortSignal;
  /** where its messages begin in the log; null: another terminal or program shows them */
  from: number | null;
  /** true once it has ended without serving; when unset, that is when nobody holds the home */
  hasEnded?: () => Promise<boolean> | boolean;
}

/** Follows a start in another process, until its APIs serve. Throws UserError, or the signal's reason. */
export async function untilServing({
  home,
  report,
  signal,
  from,
  hasEnded = nobodyHolds(home),
}: Following): Promise<RunState> {
  const before = await liveRunState(home);
  // the messages of its start are no longer of interest
  if (before && isServing(before)) return before;
  const hear = listener(home, from, report);
  const tell = teller(report);
  for (const end = Date.now() + PATIENCE_MS; ; await pause(LOOK_MS)) {
    signal.throwIfAborted();
    // checked first: by then the log has its last message
    const over = await hasEnded();
    const said = hear();
    const state = await liveRunState(home);
    if (state) tell(state);
    if (state && isServing(state)) {
      report.done('Worker, gateway and API are ready');
      return state;
    }
    if (over) throw new UserError(said || `Fetch ended while it started. Its log: ${logFile(home, 'fetch')}`);
    if (Date.now() > end)
      throw new UserError(
        'Fetch runs, but does not serve after 3 minutes. It goes on trying: "fetch status" says what it lacks, "fetch stop" ends it.',
      );
  }
}

/** Passes on the warnings in its log. Returns its messages that are not JSON, for example an error of the start. */
function listener(home: string, from: number | null, report: Reporter): () => string {
  const news = from === null ? () => [] : tailOf(home, 'fetch', from);
  const plain: string[] = [];
  return () => {
    for (const { level, text } of news()) {
      if (level === 'warn') report.warn(text);
      else if (level === '' && !/^(Warning: |\s+at |Node\.js v)/.test(text)) plain.push(text);
    }
    return plain.join('\n').trim();
  };
}

const isUp = (roles: RoleStatus[], name: RoleName): boolean =>
  roles.some((role) => role.name === name && (role.state === 'ready' || role.state === 'external'));
const isServing = ({ roles }: RunState): boolean => NEEDED.every((name) => isUp(roles, name));

/** Reports each role once when it is ready, each failed start of it, and what is being waited for. */
function teller(report: Reporter): (state: RunState) => void {
  const told = new Set<string>();
  let progress: string | null = null;
  const once = (key: string, tell: () => void) => {
    if (!told.has(key)) tell();
    told.add(key);
  };
  return ({ roles }) => {
    for (const { name, state, restarts, lastError, address } of roles) {
      if (state === 'restarting')
        once(`${name} ${restarts}`, () => report.warn(`${NAMES[name]} could not start, trying again: ${lastError}`));
      if (!SERVERS.includes(name)) continue;
      if (state === 'ready') once(name, () => report.done(`${NAMES[name]} is ready`));
      if (state === 'external') once(name, () => report.done(`Using the ${NAMES[name]} at ${address}`));
    }
    const waits = waitText(roles);
    if (waits !== null && waits !== progress) report.progress({ text: waits });
    progress = waits;
  };
}

/** null: nothing */
function waitText(roles: RoleStatus[]): string | null {
  const hasServers = SERVERS.every((name) => isUp(roles, name));
  const waits = (hasServers ? NEEDED : SERVERS).filter((name) => !isUp(roles, name));
  if (waits.length === 0) return null;
  if (waits.some((name) => roles.some((role) => role.name === name)))
    return `Starting ${waits.map((name) => NAMES[name]).join(', ')}`;
  return hasServers ? 'Preparing namespace and tables' : 'Preparing the servers';
}

function nobodyHolds(home: string): () => Promise<boolean> {
  let since: number | null = null;
  return async () => {
    if ((await homeHolder(home)) !== null) since = null;
    else since ??= Date.now();
    return since !== null && Date.now() - since > NOBODY_MS;
  };
}
