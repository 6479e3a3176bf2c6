import { randomUUID } from 'node:crypto';
import { finished } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { MountSettings } from 'dockerode';
import { INSIDE } from '../../contracts/kennel.ts';
import { Demux, destroy, LABEL } from './docker/containers.ts';
import type { Engine } from './docker/engine.ts';
import { hostConfig, type Limits, mount, skillMounts } from './docker/hardening.ts';
import type { WorkspaceUser } from './docker/ownership.ts';
import type { CommandResult, KennelCommand, KennelProgram, RunningProgram } from './kennel.ts';
import { KeptOutput } from './kept-output.ts';

/** HOME of a command: empty at first, and removed with its container. */
export const EMPTY_HOME = '/home/kennel';

export interface CommandContext {
  engine: Engine;
  image: string;
  limits: Limits;
  user: WorkspaceUser;
  /** mounts that depend on the user */
  system: readonly MountSettings[];
  home: string;
}

interface WithFolders {
  /** folder on the host that is mounted in place of the workspace */
  files?: string;
  /** folder on the host with packages that tasks of the workspace fetched */
  fetched?: string;
}

const TAKE_OVER = ['bash', '/opt/fetch/kennel/environment/fetched.sh'];

/** Runs one command in its own container, which is always removed. Throws the signal's reason when aborted. */
export async function runCommand(
  context: CommandContext,
  command: KennelCommand & WithFolders,
): Promise<CommandResult> {
  const { engine } = context;
  command.signal?.throwIfAborted();
  const created = await engine.docker.createContainer(configuration(context, command));
  const container = engine.patient.getContainer(created.id);
  const ended = new AbortController();
  let over = false;
  try {
    const stream = (await container.attach({
      stream: true,
      stdin: true,
      stdout: true,
      stderr: true,
      hijack: true,
    })) as unknown as NodeJS.ReadWriteStream;
    const out = sink('stdout', command);
    const err = sink('stderr', command);
    const demux = new Demux({ stdout: out.take, stderr: err.take });
    stream.on('data', (chunk: Buffer) => demux.push(chunk));
    // awaited below; by then it may have failed already
    const read = finished(stream, { writable: false }).catch(() => {});
    stream.on('error', () => {});
    command.signal?.throwIfAborted();
    await engine.docker.getContainer(created.id).start();
    const exit = container.wait() as Promise<{ StatusCode: number }>;
    exit.catch(() => {});
    stream.end((await command.stdin) ?? '');
    const outcome = await Promise.race([
      exit.then(() => 'exited' as const),
      pause(command.timeoutMs, 'timeout' as const, { signal: ended.signal }),
      aborted(command.signal, ended.signal),
    ]);
    over = outcome === 'exited';
    if (!over) {
      // throws when the container could not be ended, because then nobody may be told that it was
      await destroy(engine.docker, created.id);
    }
    if (outcome === 'aborted') throw command.signal?.reason;
    // the last output may come after the notice of the end
    await Promise.race([read, pause(5_000, undefined, { signal: ended.signal })]);
    const code = outcome === 'exited' ? (await exit).StatusCode : null;
    return {
      code,
      stdout: out.kept.text(),
      stderr: err.kept.text(),
      cut: out.kept.cut || err.kept.cut,
      timedOut: outcome === 'timeout',
      // a container that ended well is not inspected again
      outOfMemory: code ? (await engine.docker.getContainer(created.id).inspect()).State.OOMKilled : false,
    };
  } finally {
    ended.abort();
    // one call removes a container that has ended; every file that is read and every checkpoint waits for this
    const removed =
      over &&
      (await engine.docker
        .getContainer(created.id)
        .remove({ v: true })
        .then(
          () => true,
          () => false,
        ));
    // an engine that went away cannot be asked; `sweep` finds the container later
    if (!removed) await destroy(engine.docker, created.id).catch(() => {});
  }
}

export async function endCommand(
  { engine, home }: Pick<CommandContext, 'engine' | 'home'>,
  label: string,
): Promise<void> {
  const filters = { label: [`${LABEL.home}=${home}`, `${LABEL.step}=${label}`, LABEL.until] };
  const found = await engine.docker.listContainers({ all: true, filters });
  await Promise.all(found.map(({ Id }) => destroy(engine.docker, Id)));
}

function sink(stream: 'stdout' | 'stderr', { maxOutput, onOutput }: KennelCommand) {
  const kept = new KeptOutput(maxOutput);
  const decoder = new StringDecoder('utf8');
  return {
    kept,
    take: (bytes: Buffer): void => {
      kept.push(bytes);
      const text = onOutput ? decoder.write(bytes) : '';
      if (text) onOutput?.(stream, text);
    },
  };
}

export function configuration(
  { image, limits, user, system, home }: CommandContext,
  command: KennelCommand & WithFolders,
): Docker.ContainerCreateOptions {
  const { fetched, home: ownHome } = command;
  // packages may name the folder in which they were fetched
  const homeInside = fetched === undefined && ownHome === undefined ? EMPTY_HOME : INSIDE.home;
  const env: Record<string, string> = { HOME: homeInside, ...command.env };
  // a killed worker cannot end the container, so it ends itself a little later
  const seconds = Math.ceil(command.timeoutMs / 1000) + 10;
  return {
    name: `fetch-${home}-command-${randomUUID()}`,
    Image: image,
    Cmd: ['timeout', '--signal=KILL', String(seconds), ...(fetched === undefined ? [] : TAKE_OVER), ...command.argv],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    WorkingDir: command.workspace === null ? EMPTY_HOME : insideWorkspace(command.cwd),
    User: `${user.uid}:${user.gid}`,
    Hostname: 'kennel',
    Labels: {
      [LABEL.home]: home,
      [LABEL.step]: command.label,
      [LABEL.until]: String(Date.now() + (seconds + 60) * 1000),
    },
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: hostConfig({
      limits,
      user,
      ...(ownHome === undefined && { emptyHome: homeInside }),
      output: 'none',
      mounts: [
        ...(command.workspace === null
          ? []
          : [mount(command.files ?? command.workspace, INSIDE.workspace, command.readOnly)]),
        ...(ownHome === undefined ? [] : [mount(ownHome, INSIDE.home)]),
        ...(fetched === undefined ? [] : [mount(fetched, INSIDE.fetched, true)]),
        ...(command.gate === undefined ? [] : [mount(command.gate, `${INSIDE.run}/gate`, true)]),
        ...(command.side === undefined ? [] : [mount(command.side, '/run/fetch-side')]),
        ...skillMounts(command.skills),
        ...system,
      ],
    }),
  };
}

/** The engine would create a missing folder. A name that leads out of the workspace is refused. */
export function insideWorkspace(cwd = '.'): string {
  const path = new URL(`file://${INSIDE.workspace}/${cwd.split('/').map(encodeURIComponent).join('/')}`).pathname;
  const inside = decodeURIComponent(path).replace(/(?<!\/)\/+$/, '');
  if (inside !== INSIDE.workspace && !inside.startsWith(`${INSIDE.workspace}/`))
    throw new Error(`The folder ${cwd} is outside of the workspace.`);
  return inside;
}

function aborted(signal: AbortSignal | undefined, ended: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve('aborted');
    signal?.addEventListener('abort', () => resolve('aborted'), { once: true, signal: ended });
  });
}

/**
 * Starts a program in a container of its own and speaks with it. It also ends with this process, because its input is
 * closed then.
 */
export async function startAttached(
  context: CommandContext,
  program: KennelProgram & { gate?: string },
): Promise<RunningProgram> {
  const { docker, patient } = context.engine;
  const { argv, env, folder, timeoutMs, label, gate, onStdout, onStderr, onEnd } = program;
  const settings = {
    workspace: folder,
    readOnly: true,
    argv: [...argv],
    env: { ...env },
    timeoutMs,
    label,
    maxOutput: 0,
    ...(gate !== undefined && { gate }),
  };
  const { id } = await docker.createContainer(configuration(context, settings));
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    onEnd();
  };
  let stream: NodeJS.ReadWriteStream;
  try {
    stream = (await patient
      .getContainer(id)
      .attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true })) as unknown as typeof stream;
    const demux = new Demux({ stdout: onStdout, stderr: onStderr });
    stream.on('data', (chunk: Buffer) => demux.push(chunk));
    for (const event of ['end', 'close', 'error']) stream.on(event, end);
    await docker.getContainer(id).start();
  } catch (error) {
    over = true;
    await destroy(docker, id).catch(() => {});
    throw error;
  }
  return {
    write: (text) => void stream.write(text),
    close: async () => {
      over = true;
      stream.end();
      // an engine that went away cannot be asked; `sweep` finds the container later
      await destroy(docker, id).catch(() => {});
    },
  };
}
