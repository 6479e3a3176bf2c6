import { randomUUID } from 'node:crypto';
import { existsSync, lchownSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { MountSettings } from 'dockerode';
import { type AgentName, INSIDE, TOKEN } from '../../contracts/kennel.ts';
import { HOUR } from '../../domain/time.ts';
import { KeyedMutex } from '../keyed-mutex.ts';
import { Demux, destroy, inspectOrNull, LABEL, runName, statusOf } from './docker/containers.ts';
import type { Engine } from './docker/engine.ts';
import { hostConfig, type Limits, mount, skillMounts } from './docker/hardening.ts';
import type { WorkspaceUser } from './docker/ownership.ts';
import { KennelFull, type RunContainer, type StartRun } from './kennel.ts';

export interface RunContext {
  engine: Engine;
  limits: Limits;
  user: WorkspaceUser;
  /** mounts that depend on the user */
  system: readonly MountSettings[];
  /** label of this FETCH_HOME */
  home: string;
  slots: number;
}

/** Starts of one home run one at a time: counting the slots and taking one must not interleave. */
const starts = new KeyedMutex();

/**
 * Starts the container of a run, or finds it, and returns its token. Of several simultaneous starts, one creates the
 * container. @throws KennelFull
 */
export const startRun = (context: RunContext, image: string, run: StartRun): Promise<string> =>
  starts.run(context.home, () => startNow(context, image, run));

async function startNow(context: RunContext, image: string, run: StartRun): Promise<string> {
  const { docker } = context.engine;
  const name = runName(context.home, run.spec.taskId, run.spec.step);
  for (let attempt = 0; ; attempt += 1) {
    const found = await inspectOrNull(docker, name);
    // The engine is still removing it, or its start was killed. A container like that may run without the engine
    // knowing. It never begins work, because it does not have the new token.
    if (found && ['removing', 'dead', 'created'].includes(found.State.Status)) {
      await destroy(docker, found.Id);
      continue;
    }
    if (found) {
      run.onSlot?.();
      return found.Config.Labels[LABEL.token] ?? '';
    }
    if ((await slotsTaken(context)) >= context.slots) throw full(context);
    prepareFolders(context.user, run);
    const token = randomUUID();
    try {
      await docker.createContainer({ ...configuration(context, image, run, token), name });
    } catch (error) {
      // another process was faster, or the engine is removing a container of this name; look again
      if (statusOf(error) !== 409 || attempt > 50) throw error;
      await pause(200);
      continue;
    }
    run.onSlot?.();
    try {
      await docker.getContainer(name).start();
      return token;
    } catch (error) {
      await destroy(docker, name);
      throw error;
    }
  }
}

const full = ({ slots }: RunContext): KennelFull =>
  new KennelFull(`All ${slots} slots of this host are taken (FETCH_KENNEL_SLOTS); the task starts when one is free.`);

async function slotsTaken({ engine, home }: RunContext): Promise<number> {
  const filters = {
    label: [`${LABEL.home}=${home}`, LABEL.run],
    status: ['created', 'running', 'paused', 'restarting'],
  };
  return (await engine.docker.listContainers({ all: true, filters })).length;
}

/**
 * The program `agent-browser` of a container, in place of the one that an image brings. It hands its command line to
 * the host, where the browser of the chat is.
 */
const BROWSER = ['gate', 'agent-browser'] as const;
const BROWSER_PROGRAM = `#!/bin/sh
answer=$(mktemp) || exit 70
trap 'rm -f "$answer"' EXIT
if [ "$1" = upload ]; then
  for file in "$@"; do :; done
  [ -f "$file" ] && [ -r "$file" ] || { echo "There is no file $file." >&2; exit 1; }
fi
# each argument ends with a null character; the file comes after the last one
got=$({ printf '%s\\0' "$@"; [ "$1" != upload ] || base64 < "$file"; } | curl --silent --noproxy '*' --unix-socket ${INSIDE.mcpSocket} --data-binary @- \\
  --output "$answer" --write-out '%{http_code} %{content_type}' http://localhost/nanoclaw/browser)
case "$got" in
  '200 text/'*) cat "$answer" ;;
  '200 '*)
    file=/tmp/page.png
    [ "$1" = pdf ] && file=/tmp/page.pdf
    for part in "$@"; do case "$part" in "$1" | -*) ;; *) file=$part ;; esac; done
    cat "$answer" > "$file" && echo "Saved to $file" ;;
  '422 '*) cat "$answer" >&2; exit 1 ;;
  *) echo 'The browser of the chat cannot be reached now.' >&2; exit 69 ;;
esac
`;

/**
 * What the host reads and writes in the run folder is mounted over itself. A mount cannot be renamed or replaced from
 * inside, so no link that a container makes there can lead the host elsewhere.
 */
function configuration(
  context: RunContext,
  image: string,
  run: StartRun,
  token: string,
): Docker.ContainerCreateOptions {
  const { taskId, step, harness, workspace = INSIDE.workspace } = run.spec;
  const env: Record<string, string> = { ...run.env, HOME: INSIDE.home, [TOKEN]: token };
  const { user, limits } = context;
  return {
    Image: image,
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    WorkingDir: workspace,
    User: `${user.uid}:${user.gid}`,
    Hostname: 'kennel',
    Labels: {
      [LABEL.home]: context.home,
      [LABEL.task]: taskId,
      [LABEL.run]: taskId,
      [LABEL.step]: String(step),
      [LABEL.harness]: harness,
      [LABEL.token]: token,
    },
    HostConfig: hostConfig({
      limits,
      user,
      output: 'short',
      mounts: [
        mount(run.workspace, workspace, run.spec.plan === true),
        mount(run.runFolder, INSIDE.run),
        mount(join(run.runFolder, 'gate'), `${INSIDE.run}/gate`, true),
        mount(join(run.runFolder, 'spec.json'), INSIDE.spec, true),
        mount(join(run.runFolder, 'commands.ndjson'), INSIDE.commands, true),
        mount(join(run.runFolder, 'log.ndjson'), INSIDE.log),
        mount(join(run.runFolder, ...BROWSER), '/usr/local/bin/agent-browser', true),
        ...(run.login ? [mount(run.login, INSIDE.login, true)] : []),
        ...skillMounts(run.skills),
        ...context.system,
      ],
    }),
  };
}

function prepareFolders({ uid, gid }: { uid: number; gid: number }, { spec, runFolder }: StartRun): void {
  const root = process.getuid?.() === 0;
  // before the first run, there can be a session that was handed over
  if (root && !existsSync(join(runFolder, 'log.ndjson'))) giveAll(join(runFolder, 'home'), uid, gid);
  for (const folder of [runFolder, join(runFolder, 'gate'), join(runFolder, 'home')]) {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    if (root) lchownSync(folder, uid, gid);
  }
  for (const file of ['commands.ndjson', 'log.ndjson']) {
    const path = join(runFolder, file);
    if (!existsSync(path)) writeFileSync(path, '', { flag: 'a', mode: 0o644 });
    if (root) lchownSync(path, uid, gid);
  }
  // a container cannot write this folder, so no link is followed
  const program = join(runFolder, ...BROWSER);
  writeFileSync(program, BROWSER_PROGRAM, { mode: 0o755 });
  if (root) lchownSync(program, uid, gid);
  const part = join(runFolder, `.spec-${process.pid}`);
  // an earlier run could have left a link of this name, so the file is created again
  rmSync(part, { recursive: true, force: true });
  writeFileSync(part, `${JSON.stringify(spec)}\n`, { mode: 0o644, flag: 'wx' });
  if (root) lchownSync(part, uid, gid);
  renameSync(part, join(runFolder, 'spec.json'));
}

/** No container has run yet that could have put a link there. */
function giveAll(folder: string, uid: number, gid: number): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    lchownSync(join(entry.parentPath, entry.name), uid, gid);
}

export async function inspectRun(
  { engine, home }: RunContext,
  taskId: string,
  step: number,
): Promise<RunContainer | null> {
  const found = await inspectOrNull(engine.docker, runName(home, taskId, step));
  if (!found || found.Config.Labels[LABEL.run] !== taskId) return null;
  const view = viewOf(found);
  // the runner reports in its log; if it did not even start, the reason is here
  if (view.state === 'exited' && view.exitCode !== 0) view.lastOutput = await lastOutput(engine.docker, found.Id);
  return view;
}

function viewOf({ Id, Config, State }: Docker.ContainerInspectInfo): RunContainer {
  const states: Record<string, RunContainer['state']> = {
    created: 'created',
    running: 'running',
    paused: 'paused',
    restarting: 'running',
  };
  const state = states[State.Status] ?? 'exited';
  return {
    id: Id,
    taskId: Config.Labels[LABEL.run] ?? '',
    step: Number(Config.Labels[LABEL.step]),
    harness: Config.Labels[LABEL.harness] as AgentName,
    state,
    exitCode: state === 'exited' ? State.ExitCode : null,
    // the engine reports this also when only some process ran out of memory and the container went on
    outOfMemory: State.OOMKilled && State.ExitCode === 137,
    // the engine writes year 1 for never
    startedAt: State.StartedAt.startsWith('0001') ? null : State.StartedAt,
  };
}

async function lastOutput(docker: Docker, id: string): Promise<string> {
  const raw = await docker.getContainer(id).logs({ stdout: true, stderr: true, tail: 20, follow: false });
  let text = '';
  const take = (bytes: Buffer): void => {
    text += bytes.toString('utf8');
  };
  new Demux({ stdout: take, stderr: take }).push(raw);
  return text.slice(-2000).trim();
}

export async function removeRun({ engine, home }: RunContext, taskId: string, step?: number): Promise<boolean> {
  const label = [
    `${LABEL.home}=${home}`,
    `${LABEL.run}=${taskId}`,
    ...(step === undefined ? [] : [`${LABEL.step}=${step}`]),
  ];
  const found = await engine.docker.listContainers({ all: true, filters: { label } });
  const running = await Promise.all(found.map(({ Id }) => destroy(engine.docker, Id)));
  return running.includes(true);
}

export async function pauseRun(
  { engine, home }: RunContext,
  taskId: string,
  step: number,
  paused: boolean,
): Promise<boolean> {
  const name = runName(home, taskId, step);
  for (let attempt = 0; ; attempt += 1) {
    const found = await inspectOrNull(engine.docker, name);
    if (!found?.State.Running) return false;
    if (found.State.Paused === paused) return true;
    const container = engine.docker.getContainer(name);
    try {
      await (paused ? container.pause() : container.unpause());
      return true;
    } catch (error) {
      // it just ended, or another call paused it; look again
      if (attempt >= 3) throw error;
    }
  }
}

export async function listRuns({ engine, home }: RunContext): Promise<RunContainer[]> {
  const found = await engine.docker.listContainers({
    all: true,
    filters: { label: [`${LABEL.home}=${home}`, LABEL.run] },
  });
  const views = await Promise.all(found.map(({ Id }) => inspectOrNull(engine.docker, Id)));
  return views.filter((view) => view !== null).map(viewOf);
}

/** The process that ran a command inspects its container within this time of its end. Later nobody does. */
const LEFT_MS = 30_000;

/** An instance that lives sees within seconds that a container of its own has ended. */
const OTHERS_LEFT_MS = HOUR;

interface Seen {
  labels: Record<string, string>;
  /** as the engine lists it */
  state: string;
  /** when it ended, or was made if it never ran, in ms since the epoch */
  since: number;
}

/**
 * Whether nobody waits for a container: a command whose process was killed, or anything ended that another instance has
 * left, which may never run again.
 */
export function isLeft({ labels, state, since }: Seen, home: string, now: number): boolean {
  const until = LABEL.until in labels ? Number(labels[LABEL.until]) : null;
  if (labels[LABEL.home] === home) {
    if (until === null) return false;
    return until < now || (state !== 'running' && since < now - LEFT_MS);
  }
  if (until !== null) return state === 'exited' && until < now;
  return ['exited', 'created', 'dead'].includes(state) && since < now - OTHERS_LEFT_MS;
}

/** Removes containers for which nobody waits. Returns how many were of this instance. */
export async function sweepCommands({ engine, home }: RunContext): Promise<number> {
  const found = await engine.docker.listContainers({ all: true, filters: { label: [LABEL.home] } });
  const over = await Promise.all(
    found.map(async ({ Id, Labels: labels, State: state, Created }) => {
      const ended =
        state === 'running' ? 0 : Date.parse((await inspectOrNull(engine.docker, Id))?.State.FinishedAt ?? '');
      // year 1: it was never started
      return isLeft({ labels, state, since: Math.max(ended || 0, Created * 1000) }, home, Date.now());
    }),
  );
  const left = found.filter((_, at) => over[at]);
  await Promise.all(left.map(({ Id }) => destroy(engine.docker, Id)));
  return left.filter(({ Labels }) => Labels[LABEL.home] === home).length;
}
