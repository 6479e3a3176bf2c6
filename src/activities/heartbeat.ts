import { heartbeat } from '@temporalio/activity';

/** How often a running activity says that it lives: recovery after a crash is bounded by the heartbeat time-out, which is four of these. */
export const HEARTBEAT_MS = 1000;

/** Beats until the returned function is called; begins at once, because the first byte of a model may take a minute. */
export function beat(details?: () => unknown): () => void {
  heartbeat(details?.());
  const timer = setInterval(() => heartbeat(details?.()), HEARTBEAT_MS);
  return () => clearInterval(timer);
}
