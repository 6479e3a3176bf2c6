import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { type CommandContext, configuration } from './command.ts';
import { destroy } from './docker/containers.ts';
import { Demux } from './docker/demux.ts';
import type { KennelCommand } from './kennel.ts';

/** The workspace program in a container that takes several operations, one after the other. */
export interface WorkspaceSession {
  /** Rejects with SessionOver when the container ended without an answer: the operation may or may not have been done. */
  op(op: WorkspaceOp): Promise<WorkspaceAnswer>;
  /** Ends the container. */
  close(): Promise<void>;
}

/** A kept container is gone. The operation is repeated in a new one, which finds by its key what was done. */
export class SessionOver extends Error {
  override readonly name = 'SessionOver';
}

/** Opens a session. It ends after `timeoutMs`, and when this process ends, because its input is closed then. */
export async function openSession(context: CommandContext, command: KennelCommand): Promise<WorkspaceSession> {
  const { docker, patient } = context.engine;
  const { id } = await docker.createContainer(configuration(context, command));
  let buffered: Buffer[] = [];
  let waiting: PromiseWithResolvers<WorkspaceAnswer> | null = null;
  let over = false;
  const end = () => {
    over = true;
    waiting?.reject(new SessionOver('The container of the workspace program ended.'));
    waiting = null;
  };
  const take = (bytes: Buffer): void => {
    buffered.push(bytes);
    if (bytes.at(-1) !== NEWLINE) return;
    const line = Buffer.concat(buffered).toString('utf8');
    buffered = [];
    try {
      // an answer is one line, and nothing else is written
      waiting?.resolve(JSON.parse(line) as WorkspaceAnswer);
      waiting = null;
    } catch {
      end();
    }
  };
  let stream: NodeJS.ReadWriteStream;
  try {
    stream = (await patient.getContainer(id).attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true })) as unknown as typeof stream;
    const demux = new Demux({ stdout: take, stderr: () => {} });
    stream.on('data', (chunk: Buffer) => demux.push(chunk));
    for (const event of ['end', 'close', 'error']) stream.on(event, end);
    await docker.getContainer(id).start();
  } catch (error) {
    await destroy(docker, id).catch(() => {});
    throw error;
  }
  return {
    op: (op) => {
      if (over) return Promise.reject(new SessionOver('The container of the workspace program has ended.'));
      if (waiting) return Promise.reject(new Error('One operation at a time is asked of a workspace program.'));
      waiting = Promise.withResolvers();
      const { promise } = waiting;
      stream.write(`${JSON.stringify(op)}\n`);
      return promise;
    },
    close: async () => {
      stream.end();
      end();
      // an engine that went away cannot be asked; `sweep` finds the container later
      await destroy(docker, id).catch(() => {});
    },
  };
}

const NEWLINE = 10;

/** Short tasks end within this time; a longer task can afford another container for its commit. */
const KEPT_MS = 2 * 60_000;

/** Sessions of this process that answered once and may be used once more, by name. */
export class KeptSessions {
  readonly #sessions = new Map<string, { session: WorkspaceSession; timer: NodeJS.Timeout }>();

  keep(name: string, session: WorkspaceSession): void {
    void this.take(name)?.close();
    const timer = setTimeout(() => void this.take(name)?.close(), KEPT_MS);
    timer.unref();
    this.#sessions.set(name, { session, timer });
  }

  /** The caller closes it. */
  take(name: string): WorkspaceSession | undefined {
    const kept = this.#sessions.get(name);
    if (!kept) return undefined;
    clearTimeout(kept.timer);
    this.#sessions.delete(name);
    return kept.session;
  }
}
