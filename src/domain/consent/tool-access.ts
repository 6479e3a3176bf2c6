import type { Danger } from '../../contracts/conversation.ts';

/** Which tools a thread, or one turn of it, permits. */
export interface ToolAccess {
  /** as the client wrote it; only `plan` restricts: it may read and change nothing */
  mode: string;
  /** whether commands may be run */
  allowShell: boolean;
}

/** The turn's settings count first, the thread's where the turn has none. */
export const accessOf = (
  turn: { mode: string | null; allow_shell: boolean | null },
  thread: { mode: string; allow_shell: boolean },
): ToolAccess => ({
  mode: turn.mode ?? thread.mode,
  allowShell: turn.allow_shell ?? thread.allow_shell,
});

/** Why a turn may not use a tool, in words for the model; null when it may. */
export function closedTo(
  tool: { name: string; danger: Danger; needsShell?: boolean },
  { mode, allowShell }: ToolAccess,
): string | null {
  if (tool.needsShell && !allowShell)
    return `${tool.name} is not available here: this thread may run no commands (allow_shell is false).`;
  if (mode === 'plan' && tool.danger !== 'SAFE')
    return `${tool.name} is not available here: this thread plans and changes nothing (mode is plan).`;
  return null;
}
