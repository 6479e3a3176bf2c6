import type { Turn } from './profile.ts';

/** The rule for an agent that answers a failed turn with a JSON-RPC error. */
export function failureByError(turn: Turn): string | null {
  if (turn.error) return sentence(turn.error);
  if (turn.response?.stopReason === 'refusal') return 'The agent refused to go on.';
  if (turn.response?.stopReason === 'max_tokens') return 'The agent stopped at the limit of tokens of its model.';
  if (turn.response?.stopReason === 'max_turn_requests')
    return 'The agent stopped at its limit of model calls in one turn.';
  return null;
}

/**
 * One line of an error, with the details that many agents put in `data`, and the kind that Claude Code's adapter names
 * there.
 */
export function sentence(error: { code: number; message: string; data?: unknown }): string {
  const data = error.data;
  let more = '';
  let kind: unknown;
  if (typeof data === 'string') more = data;
  else if (data && typeof data === 'object') {
    const fields = data as Record<string, unknown>;
    for (const key of ['details', 'message', 'error']) if (typeof fields[key] === 'string' && !more) more = fields[key];
    kind = fields.errorKind;
  }
  const text = more && !error.message.includes(more) ? `${error.message}: ${more}` : error.message;
  return `The agent's request failed (${error.code}): ${text}${typeof kind === 'string' && kind ? ` (${kind})` : ''}`;
}

/**
 * The ACP adapters of Claude Code and Codex tell of a failed model call in a typed way to clients that ask for it (an
 * extension of a vendor: the versions of the adapters are pinned). Without it Codex ends such a turn like a good one.
 */
export const FAILURES_OPT_IN = { jetbrains: { air: { version: 1, capabilities: ['sessionFailure'] } } };

interface Meta {
  jetbrains?: {
    air?: {
      sessionFailure?: { category?: string; severity?: string; title?: string; details?: string; actions?: unknown };
    };
  };
}

/** The failure in the result of a turn, in one sentence; null when there is none. */
export function sessionFailure(turn: Turn): string | null {
  const failure = (turn.response?._meta as Meta | null | undefined)?.jetbrains?.air?.sessionFailure;
  if (failure?.severity !== 'error') return null;
  const title = failure.title?.trim() || 'The agent could not go on';
  const category = isUsageLimit(failure) ? 'usage limit' : failure.category;
  return category ? `${title} (${category})` : title;
}

/**
 * The limit of an account. Those of a session and of its context have the same category, and advise another session.
 */
const isUsageLimit = ({ category, actions }: { category?: string; actions?: unknown }): boolean =>
  category === 'limit' && Array.isArray(actions) && !actions.includes('new_session');
