import { heartbeat } from '@temporalio/activity';

/** How often a running activity says that it lives: recovery after a crash is bounded by the heartbeat time-out, which is three of these. */
export const HEARTBEAT_MS = 1000;

/**
 * Beats until the returned function is called. The first beat comes after a period: the time-out counts from the start of
 * the attempt, and a beat at once would cost every short step a write on the server.
 */
export function beat(details?: () => unknown): () => void {
  const timer = setInterval(() => heartbeat(details?.()), HEARTBEAT_MS);
  return () => clearInterval(timer);
}
