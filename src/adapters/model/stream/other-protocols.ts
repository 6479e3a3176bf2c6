import type { WireChunk } from './accumulate.ts';
import type { WireCall } from './calls.ts';

/**
 * Events and answers in the protocols of Anthropic Messages, OpenAI Responses and Gemini. Some proxies pass them on
 * below `/chat/completions`.
 */

type Fields = Record<string, unknown>;

/** A part of an answer in another protocol, as a chunk of a chat completion; the same object where it is one. */
export function asChunk(object: Fields): WireChunk {
  if ('choices' in object) return object;
  if (Array.isArray(object.candidates)) return geminiChunk(object);
  if (object.object === 'response' && Array.isArray(object.output)) return responseChunk(object);
  const { type } = object;
  if (typeof type !== 'string') return object;
  if (type.startsWith('response.')) return responseEvent(type, object);
  return anthropicEvent(type, object);
}

/** The error that an object reports in a place of its own protocol. */
export function errorOfOther({ type, response }: Fields): unknown {
  if (type !== 'response.failed') return undefined;
  return fields(response).error ?? { message: 'the response failed' };
}

const delta = (more: Fields, finish: unknown = null): WireChunk => ({
  choices: [{ index: 0, delta: more, finish_reason: finish }],
});

/** Source: https://docs.anthropic.com/en/docs/build-with-claude/streaming */
function anthropicEvent(type: string, object: Fields): WireChunk {
  const { index } = object;
  const given = fields(object.delta);
  if (type === 'message_start') return { ...modelAndUsage(fields(object.message)), choices: [{ index: 0, delta: {} }] };
  if (type === 'content_block_start') {
    const { type: kind, id, name, input, text, thinking } = fields(object.content_block);
    if (kind === 'tool_use') return delta({ tool_calls: [{ index, id, name, input: isFull(input) ? input : '' }] });
    return delta({ content: text, reasoning_content: thinking });
  }
  if (type === 'content_block_delta') {
    const { partial_json: args, text, thinking } = given;
    if (args !== undefined) return delta({ tool_calls: [{ index, input: args }] });
    return delta({ content: text, reasoning_content: thinking });
  }
  if (type === 'message_delta') return { ...modelAndUsage(object), ...delta({}, given.stop_reason) };
  if (type === 'message_stop') return { finish_reason: type };
  if (type === 'message' && Array.isArray(object.content))
    return {
      ...modelAndUsage(object),
      choices: [{ index: 0, message: { content: object.content }, finish_reason: object.stop_reason }],
    };
  return object;
}

/** Source: https://platform.openai.com/docs/api-reference/responses-streaming */
function responseEvent(type: string, object: Fields): WireChunk {
  const { delta: text, item, output_index: index } = object;
  if (type === 'response.output_text.delta') return delta({ content: text });
  if (type === 'response.refusal.delta') return delta({ refusal: text });
  if (type === 'response.reasoning_summary_text.delta' || type === 'response.reasoning_text.delta')
    return delta({ reasoning_content: text });
  // the parts of a call say nothing that the whole does not
  if (type === 'response.output_item.done' && fields(item).type === 'function_call')
    return delta({ tool_calls: [callOf(fields(item), index)] });
  if (type === 'response.completed' || type === 'response.incomplete') return responseChunk(fields(object.response));
  return { choices: [{ index: 0, delta: {} }] };
}

function responseChunk(response: Fields): WireChunk {
  const items = list(response.output);
  const text = (kind: string, name: string) =>
    items
      .flatMap(({ type, content, summary }) => (type === kind ? [...list(summary), ...list(content)] : []))
      .map((part) => (typeof part[name] === 'string' ? part[name] : ''))
      .join('');
  const message = {
    content: text('message', 'text'),
    refusal: text('message', 'refusal'),
    reasoning_content: text('reasoning', 'text'),
    tool_calls: items.flatMap((item, index) => (item.type === 'function_call' ? [callOf(item, index)] : [])),
  };
  const { reason } = fields(response.incomplete_details);
  return {
    ...modelAndUsage(response),
    choices: [{ index: 0, message, finish_reason: reason ?? response.status ?? 'completed' }],
  };
}

const callOf = ({ call_id, id, name, arguments: args }: Fields, index: unknown): WireCall => ({
  index,
  id: call_id ?? id,
  name,
  arguments: args,
});

/** Source: https://ai.google.dev/api/generate-content */
function geminiChunk({ candidates, usageMetadata, modelVersion }: Fields): WireChunk {
  const { content, finishReason } = list(candidates)[0] ?? {};
  const parts = list(fields(content).parts);
  const text = (isThought: boolean) =>
    parts
      .map(({ text, thought }) => (typeof text === 'string' && (thought === true) === isThought ? text : ''))
      .join('');
  const calls = parts.flatMap(({ functionCall }) => {
    const { id, name, args } = fields(functionCall);
    return name === undefined ? [] : [{ id, name, arguments: args ?? {} }];
  });
  return {
    ...(typeof modelVersion === 'string' && { model: modelVersion }),
    usageMetadata,
    ...delta({ content: text(false), reasoning_content: text(true), tool_calls: calls }, finishReason),
  };
}

const modelAndUsage = ({ model, usage }: Fields): WireChunk => ({
  ...(typeof model === 'string' && { model }),
  usage,
});

const fields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : []);
const isFull = (value: unknown): boolean => Object.keys(fields(value)).length > 0;
