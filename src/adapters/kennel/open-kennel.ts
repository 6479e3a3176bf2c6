import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { sideFolder } from '../workspaces.ts';
import { runCommand } from './command.ts';
import { homeLabel } from './docker/containers.ts';
import { connect, type Engine, explain } from './docker/engine.ts';
import { createOwnership, systemFiles, userOf } from './docker/ownership.ts';
import { type Images, images } from './images/image.ts';
import { imageKindOf } from './images/image-files.ts';
import type { Kennel, WorkspaceOpOptions } from './kennel.ts';
import { inspectRun, listRuns, pauseRun, type RunContext, removeRun, startRun, sweepCommands } from './runs.ts';
import { KeptSessions, openSession, SessionOver, type WorkspaceSession } from './workspace-session.ts';

export type KennelConfig = Pick<
  Config,
  | 'FETCH_HOME'
  | 'FETCH_KENNEL_HOST'
  | 'DOCKER_HOST'
  | 'FETCH_KENNEL_BASE'
  | 'FETCH_KENNEL_SLOTS'
  | 'FETCH_KENNEL_MEMORY_MB'
  | 'FETCH_KENNEL_CPUS'
  | 'FETCH_KENNEL_PIDS'
>;

/** A kennel with the parts that `fetch kennel` shows. */
export interface OpenKennel extends Kennel {
  engine: Engine;
  images: Images;
}

const OPERATION = ['node', '/opt/fetch/kennel/workspace/main.ts'];
/** a checkpoint of a large repository takes minutes */
const OPERATION_MS = 10 * 60_000;
const OPERATION_BYTES = 64 * 1024 * 1024;
/** operations that may create or restore a repository */
const MAKES: ReadonlySet<WorkspaceOp['op']> = new Set(['create', 'conclude', 'undo']);
/** longest time for two operations and the wait between them */
const SESSION_MS = 30 * 60_000;

/** Asks the engine nothing before the first call. It needs no closing. */
export function openKennel(config: KennelConfig): OpenKennel {
  const engine = connect(config);
  const provided = images(engine, config);
  const sessions = new KeptSessions();
  let cpus: number | null = null;
  const ownership = createOwnership(
    engine,
    () => provided.provide('tools'),
    () => contextOf(null),
  );
  const contextOf = async (workspace: string | null): Promise<RunContext> => {
    // asked once, because the engine takes longer to answer this than to create a container
    cpus ??= (await engine.facts()).cpus;
    const user = await userOf(workspace);
    return {
      engine,
      user,
      system: await systemFiles(config.FETCH_HOME, user),
      home: homeLabel(config.FETCH_HOME, config.FETCH_KENNEL_HOST),
      slots: config.FETCH_KENNEL_SLOTS,
      limits: { memoryMb: config.FETCH_KENNEL_MEMORY_MB, cpus: config.FETCH_KENNEL_CPUS, pids: config.FETCH_KENNEL_PIDS, hostCpus: cpus },
    };
  };
  const kennel: OpenKennel = {
    engine,
    images: provided,
    ready: async () => {
      await engine.facts();
    },
    provide: (agent, onProgress, signal) =>
      explained(async () => {
        await engine.facts();
        await provided.provide(imageKindOf(agent), onProgress, { signal });
      }),
    command: (command) =>
      explained(async () => {
        const where = await contextOf(command.workspace);
        const image = await provided.provide('tools');
        if (command.workspace !== null && !command.readOnly) await ownership.settle(command.workspace);
        return await runCommand({ ...where, image }, command);
      }),
    workspaceOp: async (workspace, op, options = {}) => {
      const answer = await operate(workspace, op, options);
      // what the operation created in the folder itself (a repository) belongs to the owner
      if (MAKES.has(op.op)) await explained(() => ownership.settle(workspace, { fresh: true }));
      return answer;
    },
    start: (run) =>
      explained(async () => {
        const where = await contextOf(run.workspace);
        const image = await provided.provide(imageKindOf(run.spec.harness));
        await ownership.settle(run.workspace, { fresh: true });
        return await startRun(where, image, run);
      }),
    inspect: (taskId, step) => explained(async () => inspectRun(await contextOf(null), taskId, step)),
    remove: (taskId, step) => explained(async () => removeRun(await contextOf(null), taskId, step)),
    setPaused: (taskId, step, paused) => explained(async () => pauseRun(await contextOf(null), taskId, step, paused)),
    list: () => explained(async () => listRuns(await contextOf(null))),
    sweep: () => explained(async () => sweepCommands(await contextOf(null))),
  };
  return kennel;

  async function operate(workspace: string, op: WorkspaceOp, options: WorkspaceOpOptions): Promise<WorkspaceAnswer> {
    const side = await ownSide(workspace, await userOf(workspace));
    const answered = await inSession(workspace, side, op, options);
    if (answered) return answered;
    const stdin = options.after ? options.after.then(() => JSON.stringify(op)) : JSON.stringify(op);
    // a command that fails before it reads its input never sees this failure
    if (typeof stdin !== 'string') stdin.catch(() => {});
    const result = await kennel.command({
      workspace,
      argv: OPERATION,
      stdin,
      timeoutMs: OPERATION_MS,
      maxOutput: OPERATION_BYTES,
      label: options.label ?? op.op,
      side,
      signal: options.signal,
    });
    const answer = result.cut ? null : parsed(result.stdout);
    if (answer && result.code === 0) return answer;
    const why = result.timedOut
      ? `it took longer than ${OPERATION_MS / 60_000} minutes`
      : result.outOfMemory
        ? 'it ran out of memory (FETCH_KENNEL_MEMORY_MB)'
        : result.cut
          ? 'its answer was too long'
          : `it ended with code ${result.code}: ${result.stderr.trim().slice(-1000) || 'and said nothing'}`;
    throw new Error(`The workspace operation ${op.op} has no answer: ${why}`);
  }

  /** Null when the operation needs its own container. */
  async function inSession(workspace: string, side: string, op: WorkspaceOp, { keepAs, kept, after, label = op.op }: WorkspaceOpOptions) {
    if (keepAs === undefined && kept === undefined) return null;
    const session = kept === undefined ? await explained(() => newSession(workspace, side, label)) : sessions.take(kept);
    if (!session) return null;
    let answer: WorkspaceAnswer | null = null;
    try {
      await after;
      answer = await session.op(op);
      return answer;
    } catch (error) {
      if (error instanceof SessionOver) return null;
      throw error;
    } finally {
      if (answer && keepAs !== undefined) sessions.keep(keepAs, session);
      else void session.close();
    }
  }

  async function newSession(workspace: string, side: string, label: string): Promise<WorkspaceSession> {
    const where = await contextOf(workspace);
    const image = await provided.provide('tools');
    await ownership.settle(workspace);
    return await openSession({ ...where, image }, { workspace, argv: [...OPERATION, 'serve'], timeoutMs: SESSION_MS, maxOutput: 0, label, side });
  }
}

/** The folder of a workspace's checkpoints, owned by the containers' user. */
async function ownSide(workspace: string, { uid, gid }: { uid: number; gid: number }): Promise<string> {
  const side = await sideFolder(workspace);
  if (process.getuid?.() !== 0 || (await lstat(side)).uid === uid) return side;
  // no agent's container can put anything here, so walking by path is safe; the folder itself comes last, so that an interrupted walk is done again
  for (const entry of await readdir(side, { recursive: true })) await lchown(join(side, entry), uid, gid);
  await lchown(side, uid, gid);
  return side;
}

/** Reports an engine that goes away during the work as KennelUnavailable. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(error);
  }
}

function parsed(text: string): WorkspaceAnswer | null {
  try {
    const answer = JSON.parse(text) as WorkspaceAnswer;
    return typeof answer?.ok === 'boolean' && typeof answer.output === 'string' ? answer : null;
  } catch {
    return null;
  }
}
