import { setTimeout as pause } from 'node:timers/promises';
import { streamOutput } from '../../store/kennel/workspaces/call-output.ts';
import type { ToolContext } from '../tool.ts';

/** How soon a container engine, or its worker, is back after a restart; shorter than a tool's time limit. */
const WAIT_MS = 40_000;
const LOOK_MS = 500;

/** The roles of an instance start together, and the one that runs containers may be ready last. */
const STARTING_UPTIME_S = 60;

/** This process has just started, so a host that is unknown or was last seen long ago may be about to appear. */
export const hostsMayBeStarting = (): boolean => process.uptime() < STARTING_UPTIME_S;

export interface Absence {
  problem: string;
  /** it was there recently, or nobody has looked yet, so waiting may help */
  expected: boolean;
}

/**
 * Repeats `look` until it finds no absence, or an absence that waiting does not change, or until the time is over.
 * Meanwhile the person sees what is waited for.
 */
export async function awaitEngine<T>(
  context: ToolContext,
  look: () => Promise<T | Absence>,
  limitMs = WAIT_MS,
): Promise<T | Absence> {
  const giveUp = Date.now() + limitMs;
  let shown: ReturnType<typeof streamOutput> | undefined;
  try {
    for (;;) {
      const found = await look();
      if (!isAbsence(found) || !found.expected) return found;
      if (Date.now() >= giveUp)
        return { ...found, problem: `${found.problem} (Waited ${Math.round(limitMs / 1000)} s for it.)` };
      if (!shown) {
        shown = streamOutput(context.db, context);
        shown.push(`Waiting for the containers of this machine: ${found.problem}\n`);
      }
      await pause(LOOK_MS, undefined, { signal: context.signal });
    }
  } finally {
    await shown?.close();
  }
}

export const isAbsence = (found: unknown): found is Absence =>
  typeof (found as Partial<Absence> | null)?.problem === 'string';
