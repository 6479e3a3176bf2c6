import { heartbeat } from '@temporalio/activity';
import { asFailure } from './failure.ts';

/**
 * How often a running activity sends a heartbeat. Recovery after a crash takes at most the heartbeat time-out, which is
 * three of these.
 */
export const HEARTBEAT_MS = 1000;

/**
 * Sends heartbeats until the returned function is called. The first one comes after a period: the time-out counts from
 * the start of the attempt, and a heartbeat at once would cost every short step a write on the server.
 */
export function beat(details?: () => unknown): () => void {
  const timer = setInterval(() => heartbeat(details?.()), HEARTBEAT_MS);
  return () => clearInterval(timer);
}

/** An activity with heartbeats, so that a dead worker is detected. It throws only failures of the vocabulary. */
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

/**
 * A short activity on our own store, run as a local activity without heartbeats. It throws only failures of the
 * vocabulary.
 */
export const recording =
  <I, O>(run: (input: I) => Promise<O>) =>
  (input: I): Promise<O> =>
    run(input).catch((error) => {
      throw asFailure(error);
    });
