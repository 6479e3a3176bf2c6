import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { type CommandContext, configuration } from './command.ts';
import { destroy } from './docker/containers.ts';
import { Demux } from './docker/demux.ts';
import type { KennelCommand } from './kennel.ts';
import { KeptOutput } from './kept-output.ts';

/** The workspace program in a container that takes several operations, one after the other. */
export interface WorkspaceSession {
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
export class SessionOver extends Error {
  override readonly name = 'SessionOver';
}

/** Longest answer, in bytes. */
const ANSWER_BYTES = 64 * 1024 * 1024;
/** An operation that is begun later could meet the end of the container. */
const LAST_PART = 1 / 2;
const NEWLINE = 10;

/** Opens a session. It ends after `timeoutMs`, and when this process ends, because its input is closed then. */
export async function openSession(context: CommandContext, command: KennelCommand): Promise<WorkspaceSession> {
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
    if (OOMKilled) return 'it ran out of memory (FETCH_KENNEL_MEMORY_MB)';
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
