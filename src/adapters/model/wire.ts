import { storableJson } from '../../domain/text/storable.ts';
import type { ModelMessage, ModelRequest, ModelTool } from './model.ts';
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
  { model, messages, tools, maxTokens }: ModelRequest,
  { askUsage, limitName }: { askUsage: boolean; limitName: 'max_tokens' | 'max_completion_tokens' },
): { body: string; promptChars: number } {
  const said = messages.map(messagePiece);
  const offered = tools.length > 0 ? toolsPiece(tools) : null;
  const body = [
    `{"model":${JSON.stringify(model)},"messages":[${said.map((piece) => piece.json).join(',')}],"stream":true`,
    ...(askUsage ? ['"stream_options":{"include_usage":true}'] : []),
    ...(offered ? [`"tools":${offered.json}`] : []),
    ...(maxTokens === undefined ? [] : [`"${limitName}":${maxTokens}`]),
  ].join(',');
  return { body: `${body}}`, promptChars: said.reduce((sum, piece) => sum + piece.counted + 1, 1) + (offered?.counted ?? 0) };
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
