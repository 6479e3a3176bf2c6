import type { Turn } from './profile.ts';

/**
 * The ACP adapters of Claude Code and Codex tell of a failed model call in a typed way to clients that ask for it (an extension of a vendor:
 * the versions of the adapters are pinned). Without it Codex ends such a turn like a good one.
 */
export const FAILURES_OPT_IN = { jetbrains: { air: { version: 1, capabilities: ['sessionFailure'] } } };

interface Meta {
  jetbrains?: { air?: { sessionFailure?: { category?: string; severity?: string; title?: string; details?: string } } };
}

/** The failure in the result of a turn, in one sentence; null when there is none. */
export function sessionFailure(turn: Turn): string | null {
  const failure = (turn.response?._meta as Meta | null | undefined)?.jetbrains?.air?.sessionFailure;
  if (failure?.severity !== 'error') return null;
  const title = failure.title?.trim() || 'The agent could not go on';
  return failure.category ? `${title} (${failure.category})` : title;
}
