import type { Say } from '../../../domain/texts/say.ts';
import type { OfferedTool, Situation } from './situation.ts';

/** One answer of the practice model, or one step of a script. Everything is optional. */
export interface ScriptStep {
  /** `$LAST` stands for the latest tool result */
  say?: string;
  think?: string;
  /** tool name and arguments; a string is sent as it is, also when it is no JSON */
  call?: Array<[name: string, args: Record<string, unknown> | string]>;
  /** milliseconds before each word */
  pace?: number;
  /** answer with this HTTP status instead */
  fail?: number;
  /** with `fail`: the Retry-After header, seconds */
  retryAfter?: number;
  /** never answer */
  hang?: boolean;
  /** break the connection in the middle of the answer */
  cut?: boolean;
  /** `fail`, `hang` and `cut` only happen to so many requests of this step; to all when unset */
  times?: number;
}

/**
 * The step of a `SCRIPT:[...]` message that is due; null when the message is no script. Text after the list is ignored.
 */
export function scriptedStep(situation: Omit<Situation, 'say'>): ScriptStep | null {
  const text = situation.user.trimStart();
  if (!text.startsWith('SCRIPT:')) return null;
  const source = firstJson(text.slice('SCRIPT:'.length));
  let steps: unknown;
  try {
    steps = JSON.parse(source);
  } catch (error) {
    return { say: `This script is not valid JSON: ${(error as Error).message}` };
  }
  if (!Array.isArray(steps)) return { say: 'A script is a list of steps.' };
  const step = steps[situation.step] as ScriptStep | undefined;
  if (!step) return { say: 'The script is over.' };
  return step.say === undefined ? step : { ...step, say: step.say.replaceAll('$LAST', () => situation.last) };
}

/** The JSON value at the start of a text, up to its closing bracket. */
export function firstJson(text: string): string {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char === '\\') at++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '[' || char === '{') depth++;
    else if ((char === ']' || char === '}') && --depth === 0) return text.slice(0, at + 1);
  }
  return text;
}

/** Arguments of a call, each with the names that it has in one schema or another. */
type Args = Array<[aliases: string[], value: unknown]>;

/** By it a model gets tools that are not listed yet. Where it is offered, they may be called by their names as well. */
const OPENS = 'open_tools';

/** Calls a tool under the argument names that its schema has, or says that the request does not offer it. */
export type Use = (name: string, args: Args, words: string) => ScriptStep;

export const useOf =
  (tools: readonly OfferedTool[], say: Say): Use =>
  (name, args, words) => {
    const unlisted = tools.some((offered) => offered.name === OPENS) ? { name, properties: [] } : undefined;
    const tool = tools.findLast((offered) => offered.name === name) ?? unlisted;
    if (!tool) return { say: say('practice.noTool', { tool: name }) };
    return { say: words, call: [[name, named(tool, args)]] };
  };

/** Arguments under the names that the tool's own schema has; the first alias where the schema tells none of them. */
function named(tool: OfferedTool, args: Args): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [aliases, value] of args) {
    const name =
      aliases.find((alias) => tool.properties.includes(alias)) ??
      (tool.properties.length === 0 ? aliases[0] : undefined);
    if (name) result[name] = value;
  }
  return result;
}
