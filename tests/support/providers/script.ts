import { firstJson, type ScriptStep } from '../../../src/adapters/model/practice/script.ts';
import type { Asked, Reply } from './asked.ts';
import { type Role, toolFor } from './roles.ts';
import type { ScriptedLimit } from './usage-limits.ts';

/** One answer of the scripted provider. What it shares with the scripts of the practice model means the same. */
export interface AgentStep extends Omit<ScriptStep, 'think' | 'call'> {
  /** what the agent is to do, in words that hold for every CLI: translated into the tool that this CLI offers */
  do?: Array<[role: Role, args: Record<string, unknown>]>;
  /**
   * the same with what the CLI offers of it: an agent that may only read offers less, and a step of which nothing is
   * left is passed over
   */
  tries?: Array<[role: Role, args: Record<string, unknown>]>;
  /**
   * it is said again until somebody has said this to the agent; for a step without tools, which leaves no trace in a
   * history
   */
  until?: string;
  /** the model is at a limit when this step is asked for, and answers after it */
  limit?: ScriptedLimit;
  /** a tool of the CLI by its own name */
  call?: Array<[name: string, args: Record<string, unknown>]>;
}

export const script = (...steps: AgentStep[]): string => `SCRIPT:${JSON.stringify(steps)}`;

/** The script of the conversation, and its next step; null when nobody has sent one. */
export function due(asked: Asked): { text: string; at: number; step: AgentStep } | null {
  const from = asked.turns.findLastIndex((turn) => turn.role === 'user' && turn.text.includes('SCRIPT:['));
  if (from < 0) return null;
  const text = firstJson(asked.turns[from]!.text.split('SCRIPT:').slice(1).join('SCRIPT:'));
  let steps: AgentStep[];
  try {
    steps = JSON.parse(text);
  } catch (error) {
    return { text, at: 0, step: { say: `This script is not valid JSON: ${(error as Error).message}` } };
  }
  let at = stepAfter(asked.turns.slice(from + 1));
  const told = asked.turns.slice(from + 1).filter(({ role }) => role === 'user');
  while (steps[at]?.until !== undefined && told.some(({ text }) => text.includes(steps[at]!.until!))) at += 1;
  while (steps[at]?.tries?.every(([role, args]) => toolFor(role, args, asked) === null)) at += 1;
  return { text, at, step: steps[at] ?? { say: 'The script is over.' } };
}

/**
 * What the model says at this step. `n` makes ids of calls unique in a session; they also carry the step, because
 * agents add turns of their own to a history, and repeat or drop others when they resume it.
 */
export function replyTo(asked: Asked, step: AgentStep, at: number, n: number): Reply {
  const last = asked.turns.findLast((turn) => turn.role === 'tool')?.text ?? '';
  const wanted: Array<[string, Record<string, unknown>] | string> = [
    ...(step.call ?? []),
    ...(step.tries ?? []).map(([role, args]) => toolFor(role, args, asked)).filter((call) => call !== null),
    ...(step.do ?? []).map(([role, args]) => toolFor(role, args, asked) ?? `This agent offers no tool to ${role}.`),
  ];
  const missing = wanted.filter((one) => typeof one === 'string');
  const calls = wanted.filter((one) => typeof one !== 'string');
  return {
    text: [step.say?.replaceAll('$LAST', () => last), ...missing].filter((part) => part !== undefined).join(' '),
    calls: calls.map(([name, args], index) => ({
      id: `call_${at}x${index}_${n}`,
      name,
      args,
      tool: asked.tools.find((tool) => tool.name === name),
    })),
    pace: step.pace ?? 0,
    cut: step.cut ?? false,
  };
}

/**
 * The step after the highest one whose calls are in the history; assistant turns with calls are counted where ids were
 * rewritten.
 */
function stepAfter(turns: Asked['turns']): number {
  const calls = turns.flatMap((turn) => turn.calls ?? []);
  const known = calls.flatMap((id) => /^call_(\d+)x\d+_/.exec(id)?.[1] ?? []).map(Number);
  if (known.length > 0) return Math.max(...known) + 1;
  return turns.filter((turn) => turn.calls?.length).length;
}
