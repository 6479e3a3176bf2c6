import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { MINUTE } from '../../domain/time.ts';
import { sideFolder } from '../workspaces.ts';
import { type CommandContext, configuration } from './command.ts';
import { Demux, destroy } from './docker/containers.ts';
import { explained } from './docker/engine.ts';
import { userOf } from './docker/ownership.ts';
import type { KennelCommand, WorkspaceOpOptions } from './kennel.ts';
import { KeptOutput } from './kept-output.ts';

const PROGRAM = ['node', '/opt/fetch/kennel/workspace/main.ts'];
/** a checkpoint of a large repository takes minutes */
const OPERATION_MS = 10 * MINUTE;
/** longest life of a container; operations begin in its first half */
const SESSION_MS = 30 * MINUTE;

/** The steps of a turn, and mostly the next message, come within this time. */
const KEPT_MS = 2 * MINUTE;
/** Each holds 29 MB. */
const MOST = 4;

/**
 * Sessions of this process that wait for another operation, by what they can be used for. The one that waits longest
 * ends first.
 */
class KeptSessions {
  readonly #sessions = new Map<string, { session: WorkspaceSession; timer: NodeJS.Timeout }>();

  keep(use: string, session: WorkspaceSession): void {
    if (session.spent || this.#sessions.has(use)) {
      leave(session);
      return;
    }
    const timer = setTimeout(() => leave(this.take(use)), KEPT_MS);
    timer.unref();
    this.#sessions.set(use, { session, timer });
    if (this.#sessions.size > MOST) leave(this.take(this.#sessions.keys().next().value!));
  }

  /** The caller keeps it again, or closes it. */
  take(use: string): WorkspaceSession | undefined {
    const kept = this.#sessions.get(use);
    if (!kept) return undefined;
    clearTimeout(kept.timer);
    this.#sessions.delete(use);
    if (!kept.session.spent) return kept.session;
    leave(kept.session);
    return undefined;
  }

  async close(): Promise<void> {
    const waiting = [...this.#sessions.keys()].map((use) => this.take(use));
    await Promise.allSettled(waiting.map((session) => session?.close()));
  }
}

/** An engine that went away cannot be asked; `sweep` finds the container later. */
function leave(session: WorkspaceSession | undefined): void {
  session?.close().catch(() => {});
}

/**
 * The workspace program. A container takes longer to start than nearly every operation, so one that has answered waits
 * for the next operation on the same workspace. It has the same mounts, user and image as one that would be started
 * now, and ends when anything else runs in it.
 */
export class WorkspaceProgram {
  /** what a container of the program needs, with the folder in the hands of its user */
  private readonly contextOf: (workspace: string) => Promise<CommandContext>;
  private readonly sessions = new KeptSessions();

  constructor(contextOf: (workspace: string) => Promise<CommandContext>) {
    this.contextOf = contextOf;
  }

  async run(workspace: string, op: WorkspaceOp, { after, signal }: WorkspaceOpOptions): Promise<WorkspaceAnswer> {
    signal?.throwIfAborted();
    // it may fail before anybody waits for it
    after?.catch(() => {});
    const { use, session } = await explained(() => this.sessionFor(workspace));
    try {
      await after;
      signal?.throwIfAborted();
    } catch (error) {
      this.sessions.keep(use, session);
      throw error;
    }
    try {
      const { last, ...answer } = await within(OPERATION_MS, session.op(op), signal);
      if (last) leave(session);
      else this.sessions.keep(use, session);
      return answer;
    } catch (error) {
      // nobody may be told that an operation was stopped while it goes on
      await explained(() => session.close());
      if (error instanceof SessionOver)
        throw new Error(`The workspace operation ${op.op} has no answer: ${error.message}`);
      throw error;
    }
  }

  /** Ends the containers that wait. */
  release(): Promise<void> {
    return this.sessions.close();
  }

  /** A session that nobody else uses, and what it can be used for. */
  private async sessionFor(workspace: string): Promise<{ use: string; session: WorkspaceSession }> {
    const side = await ownSide(workspace, await userOf(workspace));
    const context = await this.contextOf(workspace);
    // a folder that was removed and made again has another inode, and a mount stays with the old one
    const folders = await Promise.all([workspace, side].map(async (folder) => lstat(folder)));
    const use = JSON.stringify([workspace, ...folders.map(({ dev, ino }) => [dev, ino]), context.image, context.user]);
    const command = {
      workspace,
      argv: [...PROGRAM, 'serve', 'alone'],
      timeoutMs: SESSION_MS,
      maxOutput: 0,
      label: 'workspace',
      side,
    };
    return { use, session: this.sessions.take(use) ?? (await openSession(context, command)) };
  }
}

/** Rejects when the time is over, and with the signal's reason when it is aborted. */
async function within<T>(ms: number, work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const ended = new AbortController();
  const until = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
  const late = pause(ms, undefined, { signal: until }).then(
    () => Promise.reject(new SessionOver(`it took longer than ${ms / MINUTE} minutes`)),
    () => Promise.reject(signal?.reason),
  );
  late.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    ended.abort();
  }
}

/** The folder of a workspace's checkpoints, owned by the containers' user. */
async function ownSide(workspace: string, { uid, gid }: { uid: number; gid: number }): Promise<string> {
  const side = await sideFolder(workspace);
  if (process.getuid?.() !== 0 || (await lstat(side)).uid === uid) return side;
  // no agent's container can put anything here, so walking by path is safe; the folder itself comes last, so that an
  // interrupted walk is done again
  for (const entry of await readdir(side, { recursive: true })) await lchown(join(side, entry), uid, gid);
  await lchown(side, uid, gid);
  return side;
}

/** The workspace program in a container that takes several operations, one after the other. */
interface WorkspaceSession {
  /** it has ended, or ends before another operation could */
  readonly spent: boolean;
  /**
   * Rejects with SessionOver when the container ended without an answer: the operation may or may not have been done.
   */
  op(op: WorkspaceOp): Promise<WorkspaceAnswer>;
  /** Ends the container. Rejects when that is not certain. */
  close(): Promise<void>;
}

/** The container ended without an answer. `message` says how. */
class SessionOver extends Error {
  override readonly name = 'SessionOver';
}

/** Longest answer, in bytes. */
const ANSWER_BYTES = 64 * 1024 * 1024;
/** An operation that is begun later could meet the end of the container. */
const LAST_PART = 1 / 2;
const NEWLINE = 10;

/** Opens a session. It ends after `timeoutMs`, and when this process ends, because its input is closed then. */
async function openSession(context: CommandContext, command: KennelCommand): Promise<WorkspaceSession> {
  const { docker, patient } = context.engine;
  const { id } = await docker.createContainer(configuration(context, command));
  const opened = Date.now();
  const said = new KeptOutput(1_000);
  let buffered: Buffer[] = [];
  let bytesOfAnswer = 0;
  let waiting: PromiseWithResolvers<WorkspaceAnswer> | null = null;
  let over = false;
  const end = (why?: string) => {
    over = true;
    const asked = waiting;
    waiting = null;
    if (asked)
      void (why ? Promise.resolve(why) : endOf(context, id, said)).then((how) => asked.reject(new SessionOver(how)));
  };
  const take = (bytes: Buffer): void => {
    buffered.push(bytes);
    bytesOfAnswer += bytes.length;
    const tooLong = bytesOfAnswer > ANSWER_BYTES;
    if (!tooLong && bytes.at(-1) !== NEWLINE) return;
    const answer = tooLong ? null : parsed(Buffer.concat(buffered).toString('utf8'));
    buffered = [];
    bytesOfAnswer = 0;
    if (answer) waiting?.resolve(answer);
    else end(tooLong ? 'its answer was too long' : 'its answer was none');
    waiting = null;
  };
  let stream: NodeJS.ReadWriteStream;
  try {
    stream = (await patient
      .getContainer(id)
      .attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true })) as unknown as typeof stream;
    const demux = new Demux({ stdout: take, stderr: (bytes) => said.push(bytes) });
    stream.on('data', (chunk: Buffer) => demux.push(chunk));
    for (const event of ['end', 'close', 'error']) stream.on(event, () => end());
    await docker.getContainer(id).start();
  } catch (error) {
    await destroy(docker, id).catch(() => {});
    throw error;
  }
  return {
    get spent() {
      return over || Date.now() - opened > command.timeoutMs * LAST_PART;
    },
    op: (op) => {
      if (over) return Promise.reject(new SessionOver('it had ended'));
      if (waiting) return Promise.reject(new Error('One operation at a time is asked of a workspace program.'));
      waiting = Promise.withResolvers();
      const { promise } = waiting;
      stream.write(`${JSON.stringify(op)}\n`);
      return promise;
    },
    close: async () => {
      stream.end();
      end('it was stopped');
      await destroy(docker, id);
    },
  };
}

/** How a container ended, for people. */
async function endOf({ engine: { docker } }: CommandContext, id: string, said: KeptOutput): Promise<string> {
  try {
    const container = docker.getContainer(id);
    await container.wait();
    const { ExitCode, OOMKilled } = (await container.inspect()).State;
    if (OOMKilled) return 'it ran out of memory';
    return `it ended with code ${ExitCode}: ${said.text().trim().slice(-1_000) || 'and said nothing'}`;
  } catch {
    return 'its container is gone';
  }
}

function parsed(text: string): WorkspaceAnswer | null {
  try {
    // an answer is one line, and nothing else is written
    const answer = JSON.parse(text) as WorkspaceAnswer;
    return typeof answer?.ok === 'boolean' && typeof answer.output === 'string' ? answer : null;
  } catch {
    return null;
  }
}
