import { setTimeout as pause } from 'node:timers/promises';
import { streamOutput } from '../../store/kennel/call-output.ts';
import type { ToolContext } from '../tool.ts';

/** A container engine, or the worker beside it, is back this soon after a restart; within the time of a tool. */
const WAIT_MS = 40_000;
const LOOK_MS = 500;

/** The roles of an instance begin together, and the one that runs containers may be the last of them to be ready. */
const STARTING_UPTIME_S = 60;

/** This process began a moment ago: a host that was never seen, or not since yesterday, may be about to come. */
export const hostsMayBeStarting = (): boolean => process.uptime() < STARTING_UPTIME_S;

export interface Absence {
  problem: string;
  /** it was there a short while ago, or nobody has looked yet: waiting helps */
  expected: boolean;
}

/** Looks until `look` finds no absence, or one that waiting does not help, or until the time is over. The person sees meanwhile what is waited for. */
export async function awaitEngine<T>(context: ToolContext, look: () => Promise<T | Absence>, limitMs = WAIT_MS): Promise<T | Absence> {
  const giveUp = Date.now() + limitMs;
  let shown: ReturnType<typeof streamOutput> | undefined;
  try {
    for (;;) {
      const found = await look();
      if (!isAbsence(found) || !found.expected) return found;
      if (Date.now() >= giveUp) return { ...found, problem: `${found.problem} (Waited ${Math.round(limitMs / 1000)} s for it.)` };
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

export const isAbsence = (found: unknown): found is Absence => typeof (found as Partial<Absence> | null)?.problem === 'string';
