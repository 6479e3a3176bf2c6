import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkspaceAnswer, WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { sideFolder } from '../workspaces.ts';
import type { CommandContext } from './command.ts';
import { explained } from './docker/engine.ts';
import { userOf } from './docker/ownership.ts';
import type { CommandResult, Kennel, WorkspaceOpOptions } from './kennel.ts';
import { KeptSessions, openSession, SessionOver, type WorkspaceSession } from './workspace-session.ts';

const OPERATION = ['node', '/opt/fetch/kennel/workspace/main.ts'];
/** a checkpoint of a large repository takes minutes */
const OPERATION_MS = 10 * 60_000;
const OPERATION_BYTES = 64 * 1024 * 1024;
/** longest time for two operations and the wait between them */
const SESSION_MS = 30 * 60_000;

export interface ProgramDeps extends Pick<Kennel, 'command'> {
  /** what a container of the program needs, with the folder in the hands of its user */
  contextOf(workspace: string): Promise<CommandContext>;
}

/** The workspace program: each operation in a container that was kept for it, or else in one of its own. */
export class WorkspaceProgram {
  private readonly deps: ProgramDeps;
  private readonly sessions = new KeptSessions();

  constructor(deps: ProgramDeps) {
    this.deps = deps;
  }

  async run(workspace: string, op: WorkspaceOp, options: WorkspaceOpOptions): Promise<WorkspaceAnswer> {
    const side = await ownSide(workspace, await userOf(workspace));
    return (await this.inSession(workspace, side, op, options)) ?? (await this.inCommand(workspace, side, op, options));
  }

  private async inCommand(workspace: string, side: string, op: WorkspaceOp, { after, label = op.op, signal }: WorkspaceOpOptions): Promise<WorkspaceAnswer> {
    const stdin = after ? after.then(() => JSON.stringify(op)) : JSON.stringify(op);
    // a command that fails before it reads its input never sees this failure
    if (typeof stdin !== 'string') stdin.catch(() => {});
    const limits = { timeoutMs: OPERATION_MS, maxOutput: OPERATION_BYTES };
    const result = await this.deps.command({ workspace, argv: OPERATION, stdin, ...limits, label, side, signal });
    const answer = result.cut ? null : parsed(result.stdout);
    if (answer && result.code === 0) return answer;
    throw new Error(`The workspace operation ${op.op} has no answer: ${whyOf(result)}`);
  }

  /** Null when the operation needs its own container. */
  private async inSession(
    workspace: string,
    side: string,
    op: WorkspaceOp,
    { keepAs, kept, after, label = op.op }: WorkspaceOpOptions,
  ): Promise<WorkspaceAnswer | null> {
    if (keepAs === undefined && kept === undefined) return null;
    const session = kept === undefined ? await explained(() => this.newSession(workspace, side, label)) : this.sessions.take(kept);
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
      if (answer && keepAs !== undefined) this.sessions.keep(keepAs, session);
      else void session.close();
    }
  }

  private async newSession(workspace: string, side: string, label: string): Promise<WorkspaceSession> {
    const argv = [...OPERATION, 'serve'];
    return await openSession(await this.deps.contextOf(workspace), { workspace, argv, timeoutMs: SESSION_MS, maxOutput: 0, label, side });
  }
}

function whyOf(result: CommandResult): string {
  if (result.timedOut) return `it took longer than ${OPERATION_MS / 60_000} minutes`;
  if (result.outOfMemory) return 'it ran out of memory (FETCH_KENNEL_MEMORY_MB)';
  if (result.cut) return 'its answer was too long';
  return `it ended with code ${result.code}: ${result.stderr.trim().slice(-1000) || 'and said nothing'}`;
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

function parsed(text: string): WorkspaceAnswer | null {
  try {
    const answer = JSON.parse(text) as WorkspaceAnswer;
    return typeof answer?.ok === 'boolean' && typeof answer.output === 'string' ? answer : null;
  } catch {
    return null;
  }
}
