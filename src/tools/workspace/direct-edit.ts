import { createHash } from 'node:crypto';
import { type DirectEdit, KEY } from '../../contracts/workspace-ops.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { AUTHOR, findWorkspace, inTurnOf, type Opened, onSite, operate } from './in-workspace.ts';

/** Checkpoints for changes that tools make by themselves, without a task, so that undo knows them. */

/** The same for every attempt of a call, because a second undo would take back one more step. */
export const keyOf = (callId: string): string => (KEY.test(callId) ? callId : `call-${hashOf(callId)}`);

const hashOf = (callId: string): string => createHash('sha256').update(callId).digest('hex').slice(0, 32);

/** A change of one file. */
export const editOf = ({ callId, turnId }: ToolContext): DirectEdit => ({
  key: `edit-${hashOf(callId)}`,
  turn: turnId,
});
/** Something that can change the whole workspace. */
export const commandOf = ({ callId, turnId }: ToolContext): DirectEdit => ({
  key: `command-${hashOf(callId)}`,
  turn: turnId,
});

/** Commands that run now, by the folder of their workspace. One process serves a host. */
const running = new Map<string, number>();

/** Why nothing can be undone while a command runs: what it changes is known at its end. */
export const commandAtWork = ({ name, path }: Opened): ToolOutcome | null =>
  running.has(path)
    ? { ok: false, output: `A command is running in ${name}. Wait for its end, or stop it first.`, ours: true }
    : null;

/** Time limit of saving the state after a command, also when the command's own time is over. */
const SETTLE_MS = 60_000;

/**
 * Runs a command between two saved states of the workspace. A state that cannot be saved does not prevent the command.
 */
export async function undoable(
  at: Opened,
  context: ToolContext,
  run: (label: string) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { key, turn } = commandOf(context);
  const left: string[] = [];
  const attempt = async (what: string, work: () => Promise<{ ok: boolean; output: string }>): Promise<boolean> => {
    const answer = await inTurnOf(at.path, work).catch((error: Error) => ({ ok: false, output: error.message }));
    if (!answer.ok)
      left.push(
        `"undo" does not know what it changed, because the state ${what} it could not be kept: ${answer.output}`,
      );
    return answer.ok;
  };
  running.set(at.path, (running.get(at.path) ?? 0) + 1);
  try {
    const begun = await attempt('before', () => operate(at, { op: 'checkpoint', key, author: AUTHOR, turn }, context));
    let outcome: ToolOutcome;
    try {
      context.signal.throwIfAborted();
      outcome = await run(key);
    } finally {
      if (begun) await attempt('after', () => settle(at, context, key));
    }
    return left.length === 0 ? outcome : { ...outcome, output: [outcome.output, ...left].join('\n\n') };
  } finally {
    const others = running.get(at.path)! - 1;
    if (others === 0) running.delete(at.path);
    else running.set(at.path, others);
  }
}

const settle = (at: Opened, context: ToolContext, key: string) =>
  operate(at, { op: 'settle', key, author: AUTHOR }, { ...context, signal: AbortSignal.timeout(SETTLE_MS) });

/** After a crash: ends the command, which may have outlived its process, and saves the state that it left. */
export async function settleInterrupted(context: ToolContext, wanted: string | undefined): Promise<void> {
  await onSite(context, async (site) => {
    const found = await findWorkspace(context, site, wanted);
    if ('ok' in found) return found;
    const at = { ...site, ...found };
    const { key } = commandOf(context);
    await site.kennel.endCommand(key);
    return await inTurnOf(at.path, () => settle(at, context, key));
  });
}
