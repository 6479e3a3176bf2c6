import { storableJson } from '../../../domain/text/storable.ts';
import type { ModelMessage, ModelRequest, ModelTool } from '../model.ts';
import { userContent } from './pictures.ts';

/** A part of a request on the wire, and how many of its characters count as tokens; base64 does not. */
interface Piece {
  json: string;
  counted: number;
}

/** The history is cached, so the messages of a thread are the same objects in every request. Each is serialised once. */
const pieces = new WeakMap<ModelMessage, Piece>();
const toolJsons = new WeakMap<ModelTool, string>();

/** The body of a chat completion. `promptChars` is for the estimate when the endpoint reports no usage. */
export function wireBody(
  { model, messages, tools, maxTokens, effort }: ModelRequest,
  { askUsage, limitName, marksCache }: { askUsage: boolean; limitName: 'max_tokens' | 'max_completion_tokens'; marksCache?: boolean },
): { body: string; promptChars: number } {
  const said = messages.map(messagePiece);
  if (marksCache && model.startsWith('anthropic/')) for (const at of cachePoints(messages)) said[at] = cachedPiece(messages[at]!, said[at]!);
  const offered = tools.length > 0 ? toolsPiece(tools) : null;
  const body = [
    `{"model":${JSON.stringify(model)},"messages":[${said.map((piece) => piece.json).join(',')}],"stream":true`,
    ...(askUsage ? ['"stream_options":{"include_usage":true}'] : []),
    ...(offered ? [`"tools":${offered.json}`] : []),
    ...(effort === undefined ? [] : [`"reasoning_effort":${JSON.stringify(effort)}`]),
    ...(maxTokens === undefined ? [] : [`"${limitName}":${maxTokens}`]),
  ].join(',');
  return { body: `${body}}`, promptChars: said.reduce((sum, piece) => sum + piece.counted + 1, 1) + (offered?.counted ?? 0) };
}

/** Models of Anthropic cache only up to places that a request names: the instructions with the tools before them, and the latest message of a person. */
const cachePoints = (messages: readonly ModelMessage[]): number[] => [
  ...new Set([0, messages.findLastIndex(({ role }) => role === 'user')].filter((at) => messages[at] !== undefined)),
];

function cachedPiece(message: ModelMessage, piece: Piece): Piece {
  if (message.role !== 'system' && message.role !== 'user') return piece;
  const content = userContent(message);
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const marked = parts.map((part, at) => (at === parts.length - 1 ? { ...part, cache_control: { type: 'ephemeral' } } : part));
  return { ...piece, json: storableJson({ role: message.role, content: marked }) };
}

function messagePiece(message: ModelMessage): Piece {
  const known = pieces.get(message);
  if (known) return known;
  // many endpoints refuse half a surrogate pair, which a model's own answer may have held
  const json = storableJson(wireMessage(message));
  const counted = message.role === 'user' && message.pictures?.length ? JSON.stringify(message.content).length : json.length;
  const piece = { json, counted };
  pieces.set(message, piece);
  return piece;
}

/** Declarations are the same objects in every request, lists of them are not: a chat has those that its settings allow. */
function toolsPiece(tools: readonly ModelTool[]): Piece {
  const json = `[${tools.map(toolJson).join(',')}]`;
  return { json, counted: json.length };
}

function toolJson(tool: ModelTool): string {
  const json = toolJsons.get(tool) ?? JSON.stringify({ type: 'function', function: tool });
  toolJsons.set(tool, json);
  return json;
}

function wireMessage(message: ModelMessage): object {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.callId, content: message.content };
  if (message.role !== 'assistant') return { role: message.role, content: message.role === 'user' ? userContent(message) : message.content };
  if (!message.calls?.length) return { role: 'assistant', content: message.content };
  return {
    role: 'assistant',
    // for some providers an empty text block is an error, null is not
    content: message.content || null,
    tool_calls: message.calls.map((call) => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } })),
  };
}
