import type { Danger } from '../../contracts/conversation.ts';

/** What a thread, or one turn of it, leaves open to tools. */
export interface ToolAccess {
  /** as a client wrote it; `plan` looks and changes nothing, everything else works */
  mode: string;
  /** whether commands may be run */
  allowShell: boolean;
}

/** What a turn says counts; what it leaves open is the thread's. */
export const accessOf = (turn: { mode: string | null; allow_shell: boolean | null }, thread: { mode: string; allow_shell: boolean }): ToolAccess => ({
  mode: turn.mode ?? thread.mode,
  allowShell: turn.allow_shell ?? thread.allow_shell,
});

/** Why a tool is not there for a turn, in words for the model; null when it is. */
export function closedTo(tool: { name: string; danger: Danger; needsShell?: boolean }, { mode, allowShell }: ToolAccess): string | null {
  if (tool.needsShell && !allowShell) return `${tool.name} is not available here: this thread may run no commands (allow_shell is false).`;
  if (mode === 'plan' && tool.danger !== 'SAFE') return `${tool.name} is not available here: this thread plans and changes nothing (mode is plan).`;
  return null;
}
