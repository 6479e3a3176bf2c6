import type { ModelFacts, ModelMessage, ModelRequest, ModelTool } from '../model.ts';
import { wireName } from './identifiers.ts';
import { hasPictures, withoutPictures } from './pictures.ts';
import { strictSchema } from './schema.ts';
import { strictThread } from './thread.ts';

/**
 * A request without anything that strict servers refuse, as the facts of its model want it: the messages in order,
 * names of tools that fit, schemas in the words that every server knows, an effort that the model takes. The wires
 * write it. `names`: the tools' own names by those on the wire.
 */
export function strictRequest(
  request: ModelRequest,
  facts: ModelFacts,
): { request: ModelRequest; names: ReadonlyMap<string, string> } {
  const messages = strictThread(
    facts.noPictures && hasPictures(request.messages) ? withoutPictures(request.messages) : request.messages,
    facts,
  );
  const names = new Map<string, string>();
  const tools: ModelTool[] = [];
  for (const tool of request.tools) {
    const strict = strictTool(tool, facts.omit ?? []);
    // two tools of one name are refused, and a call of them would mean the first
    if (names.has(strict.name)) continue;
    names.set(strict.name, tool.name);
    tools.push(strict);
  }
  return {
    request: { ...request, messages: withWireNames(messages), tools, effort: effortFor(request, facts) },
    names,
  };
}

/** Declarations are the same objects in every request, and stay so, because the wires serialise each once. */
const strictTools = new WeakMap<ModelTool, { omit: string; tool: ModelTool }>();

function strictTool(given: ModelTool, omitted: readonly string[]): ModelTool {
  const omit = omitted.join();
  const known = strictTools.get(given);
  if (known?.omit === omit) return known.tool;
  const { name, description, parameters } = given;
  const tool = { name: wireName(name), description, parameters: strictSchema(parameters, omitted) };
  strictTools.set(given, { omit, tool });
  return tool;
}

const renamed = new WeakMap<ModelMessage, ModelMessage>();

const hasOtherNames = (message: ModelMessage): boolean =>
  message.role === 'assistant' && message.calls?.some(({ name }) => wireName(name) !== name) === true;

/** The calls of the steps under their names on the wire; the same objects where they fit. */
const withWireNames = (messages: readonly ModelMessage[]): readonly ModelMessage[] =>
  messages.some(hasOtherNames) ? messages.map(renamedStep) : messages;

function renamedStep(message: ModelMessage): ModelMessage {
  if (message.role !== 'assistant' || !hasOtherNames(message)) return message;
  const made = renamed.get(message) ?? {
    ...message,
    calls: message.calls!.map((call) => ({ ...call, name: wireName(call.name) })),
  };
  renamed.set(message, made);
  return made;
}

export const EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * The effort that is sent: the chosen one, or what chat completions want beside tools; of the efforts that the model
 * takes, the nearest to it.
 */
export function effortFor(
  { tools, effort }: Pick<ModelRequest, 'tools' | 'effort'>,
  facts: ModelFacts,
): string | undefined {
  if (facts.omit?.includes('reasoning_effort')) return undefined;
  const wanted = facts.effort && facts.wire !== 'responses' && tools.length > 0 ? facts.effort : effort;
  const known = facts.efforts?.filter((each) => EFFORTS.includes(each)) ?? [];
  if (wanted === undefined || known.length === 0) return wanted;
  const distance = (each: string) => Math.abs(EFFORTS.indexOf(each) - EFFORTS.indexOf(wanted));
  return known.reduce((best, each) => (distance(each) < distance(best) ? each : best));
}
