import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { MINUTE } from '../../domain/time.ts';
import { sideFolder } from '../workspaces.ts';
import type { CommandContext } from './command.ts';
import { explained } from './docker/engine.ts';
import { userOf } from './docker/ownership.ts';
import type { WorkspaceOpOptions } from './kennel.ts';
import { KeptSessions, leave } from './kept-sessions.ts';
import { openSession, SessionOver, type WorkspaceSession } from './workspace-session.ts';

const PROGRAM = ['node', '/opt/fetch/kennel/workspace/main.ts'];
/** a checkpoint of a large repository takes minutes */
const OPERATION_MS = 10 * MINUTE;
/** longest life of a container; operations begin in its first half */
const SESSION_MS = 30 * MINUTE;

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
