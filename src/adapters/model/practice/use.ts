import type { ScriptStep } from './script.ts';

/** A tool as the request offers it; `properties` are the names of its arguments. */
export interface OfferedTool {
  name: string;
  properties: string[];
}

/** Arguments of a call, each with the names that it has in one schema or another. */
type Args = Array<[aliases: string[], value: unknown]>;

/** By it a model gets tools that are not listed yet. Where it is offered, they may be called by their names as well. */
const OPENS = 'open_tools';

/** Calls a tool under the argument names that its schema has, or says that the request does not offer it. */
export type Use = (name: string, args: Args, say: string) => ScriptStep;

export const useOf =
  (tools: readonly OfferedTool[]): Use =>
  (name, args, say) => {
    const unlisted = tools.some((offered) => offered.name === OPENS) ? { name, properties: [] } : undefined;
    const tool = tools.findLast((offered) => offered.name === name) ?? unlisted;
    if (!tool) return { say: `Practice: I would call ${name} here, but this request offers no such tool.` };
    return { say, call: [[name, named(tool, args)]] };
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
