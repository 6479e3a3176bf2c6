import { heartbeat } from '@temporalio/activity';
import { asFailure } from './failure.ts';

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

/** An activity with heartbeats, so that a dead worker is noticed. What it throws is of the closed vocabulary. */
export const beating =
  <I, O>(run: (input: I) => Promise<O>) =>
  async (input: I): Promise<O> => {
    const stop = beat();
    try {
      return await run(input);
    } catch (error) {
      throw asFailure(error);
    } finally {
      stop();
    }
  };

/** A short step on our own store, run as a local activity: no heartbeats. What it throws is of the closed vocabulary. */
export const recording =
  <I, O>(run: (input: I) => Promise<O>) =>
  (input: I): Promise<O> =>
    run(input).catch((error) => {
      throw asFailure(error);
    });
