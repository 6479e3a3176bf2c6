import { isTimeNote } from '../../../domain/text/foreign-text.ts';
import { storableJson } from '../../../domain/text/storable.ts';
import type { ModelFacts, ModelMessage, ModelRequest, ModelTool } from '../model.ts';
import { INSIDE } from '../stream/calls.ts';
import { wireId } from './identifiers.ts';
import { userContent } from './pictures.ts';

/** A part of a request on the wire, and how many of its characters count as tokens; base64 does not. */
interface Piece {
  json: string;
  counted: number;
}

type Assistant = Extract<ModelMessage, { role: 'assistant' }>;

/**
 * The body of a chat completion, written of a strict request as the facts want it. `endpoint`: the base URL that is
 * asked. `promptChars` is for the estimate when the endpoint reports no usage.
 */
export function wireBody(
  request: ModelRequest,
  endpoint: string,
  facts: ModelFacts,
): { body: string; promptChars: number } {
  const { model, messages, tools, effort, maxTokens } = request;
  const said = messagePieces(messages, styleOf(endpoint, model, facts));
  if (facts.marksCache) for (const at of cachePoints(messages)) said[at] = cachedPiece(messages[at]!, said[at]!);
  const offered = tools.length > 0 ? toolsPiece(tools) : null;
  const limit = limitName(facts);
  const body = [
    `{"model":${JSON.stringify(model)},"messages":[${said.map((piece) => piece.json).join(',')}],"stream":true`,
    ...(facts.omit?.includes('stream_options') ? [] : ['"stream_options":{"include_usage":true}']),
    ...(offered ? [`"tools":${offered.json}`] : []),
    ...(effort === undefined ? [] : [`"reasoning_effort":${JSON.stringify(effort)}`]),
    ...(maxTokens === undefined || limit === undefined ? [] : [`"${limit}":${maxTokens}`]),
  ].join(',');
  return {
    body: `${body}}`,
    promptChars: said.reduce((sum, piece) => sum + piece.counted + 1, 1) + (offered?.counted ?? 0),
  };
}

/** The name under which a limit of tokens is sent; undefined: under none. */
export const limitName = ({ limitName: known, omit }: ModelFacts): string | undefined =>
  [known ?? 'max_tokens', 'max_tokens', 'max_completion_tokens'].find((name) => !omit?.includes(name));

/** What decides how an assistant message is written beside the message. */
interface Style {
  endpoint: string;
  model: string;
  facts: ModelFacts;
  /** the same for two styles that write messages without a state alike */
  key: string;
  /** the same for two that write messages with a state alike */
  stateKey: string;
}

function styleOf(endpoint: string, model: string, facts: ModelFacts): Style {
  const key = `${facts.reasoningBack ?? ''} ${facts.contentBack ?? ''} ${facts.skipSignature ?? ''} ${facts.omit?.join() ?? ''}`;
  return { endpoint, model, facts, key, stateKey: `${key} ${endpoint} ${model}` };
}

/**
 * The history is cached, so the messages of a thread are the same objects in every request. Each is serialised once for
 * a style.
 */
const pieces = new WeakMap<ModelMessage, Piece & { ids: string; key: string }>();
const toolJsons = new WeakMap<ModelTool, string>();

function messagePieces(messages: readonly ModelMessage[], style: Style): Piece[] {
  const used = new Set<string>();
  let ids: string[] = [];
  let next = 0;
  return messages.map((message) => {
    if (message.role === 'assistant') {
      ids = idsOf(message, used, style);
      next = 0;
      return pieceOf(message, ids.join(), style);
    }
    // results stand behind their step, in the order of its calls
    return message.role === 'tool' ? pieceOf(message, ids[next++]!, style) : pieceOf(message, '', style);
  });
}

const firstIds = new WeakMap<ModelMessage, string[]>();

/**
 * The ids of a step's calls on the wire, none of which was used before. An id that is a part of the provider's state
 * goes back to it.
 */
function idsOf(message: Assistant, used: Set<string>, style: Style): string[] {
  const { calls = [] } = message;
  const first = firstIds.get(message) ?? calls.map(({ id }) => wireId(id));
  firstIds.set(message, first);
  const own = style.facts.omit?.includes('id') ? undefined : stateFor(message, style)?.calls;
  return first.map((made, at) => {
    const given = own?.[at]?.id;
    let id = typeof given === 'string' && !used.has(given) ? given : made;
    for (let nth = 1; used.has(id); nth++) id = wireId(calls[at]!.id, nth);
    used.add(id);
    return id;
  });
}

function pieceOf(message: ModelMessage, ids: string, style: Style): Piece {
  const key = message.role !== 'assistant' ? '' : message.state ? style.stateKey : style.key;
  const known = pieces.get(message);
  if (known?.ids === ids && known.key === key) return known;
  // many endpoints refuse half a surrogate pair, which a model's own answer may have held
  const json = storableJson(wireMessage(message, ids, style));
  const counted =
    message.role === 'user' && message.pictures?.length ? JSON.stringify(message.content).length : json.length;
  const piece = { json, counted, ids, key };
  pieces.set(message, piece);
  return piece;
}

function wireMessage(message: ModelMessage, ids: string, style: Style): object {
  if (message.role === 'tool')
    return {
      role: 'tool',
      tool_call_id: ids,
      content: message.content.trim() === '' ? '(no output)' : message.content,
    };
  if (message.role === 'assistant') return wireStep(message, ids.split(','), style);
  return { role: message.role, content: message.role === 'user' ? userContent(message) : message.content };
}

/** An assistant message with what the endpoint wants back of it. */
function wireStep(message: Assistant, ids: readonly string[], style: Style): object {
  const own = stateFor(message, style);
  const kept = (fields: object | null | undefined) =>
    Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => !style.facts.omit?.includes(name)));
  const thoughts = { ...(style.facts.reasoningBack && { reasoning_content: '' }), ...kept(own?.message) };
  const none = style.facts.omit?.includes('content') ? '' : null;
  const said = message.content.trim();
  const written = style.facts.contentBack && typeof own?.content === 'string' ? own.content : '';
  // several steps may have become one message
  const content = written.includes(said) && written !== '' ? written : said === '' ? none : message.content;
  if (!message.calls?.length) return { role: 'assistant', content, ...thoughts };
  const skips = style.facts.skipSignature && !own;
  const calls = message.calls.map((call, at) => {
    const { [INSIDE]: inside, ...beside } = own?.calls?.[at] ?? {};
    return {
      ...(skips && at === 0 ? SKIPS_SIGNATURE : kept(beside)),
      id: ids[at],
      type: 'function',
      function: { ...kept(inside as object | undefined), name: call.name, arguments: objectJson(call.arguments) },
    };
  });
  // for some providers an empty text block is an error, null is not
  return { role: 'assistant', content, ...thoughts, tool_calls: calls };
}

/** How Gemini takes calls that another model made (ai.google.dev/gemini-api/docs/thought-signatures). */
const SKIPS_SIGNATURE = { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } };

interface ChatState {
  message?: Record<string, unknown>;
  calls?: Array<Record<string, unknown> | null>;
  /** as the model wrote it, with thoughts */
  content?: unknown;
}

/** What this endpoint wants back of a step: its own state, from the same model. */
function stateFor({ state }: Assistant, { endpoint, model }: Style): ChatState | null {
  if (state?.wire !== 'chat' || state.endpoint !== endpoint || state.model !== model) return null;
  return typeof state.data === 'object' ? (state.data as ChatState | null) : null;
}

/** Arguments as a JSON object: what a model wrote otherwise never ran, and servers that parse it refuse the request. */
export function objectJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? text : '{}';
  } catch {
    return '{}';
  }
}

/**
 * Models of Anthropic cache only up to places that a request names: the instructions with the tools before them, and
 * the latest message of a person. The time is another one in the next request.
 */
const cachePoints = (messages: readonly ModelMessage[]): number[] => [
  ...new Set(
    [0, messages.findLastIndex((one) => one.role === 'user' && !isTimeNote(one.content))].filter(
      (at) => messages[at] !== undefined,
    ),
  ),
];

function cachedPiece(message: ModelMessage, piece: Piece): Piece {
  if (message.role !== 'system' && message.role !== 'user') return piece;
  const content = userContent(message);
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const marked = parts.map((part, at) =>
    at === parts.length - 1 ? { ...part, cache_control: { type: 'ephemeral' } } : part,
  );
  return { ...piece, json: storableJson({ role: message.role, content: marked }) };
}

/**
 * Declarations are the same objects in every request, lists of them are not: a chat has those that its settings allow.
 */
function toolsPiece(tools: readonly ModelTool[]): Piece {
  const json = `[${tools.map(toolJson).join(',')}]`;
  return { json, counted: json.length };
}

function toolJson(tool: ModelTool): string {
  const json = toolJsons.get(tool) ?? storableJson({ type: 'function', function: tool });
  toolJsons.set(tool, json);
  return json;
}
