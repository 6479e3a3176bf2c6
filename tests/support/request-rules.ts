/**
 * The rules of all servers for the body of a chat completion, at once: a request that keeps them is refused by no
 * server for its form. The scripted model of the tests answers 400 where one is broken. Sources: the refusals of
 * OpenAI, Anthropic, Gemini, Mistral and of chat templates.
 */

// biome-ignore lint/suspicious/noExplicitAny: the body of a request can be anything
type Any = any;

export interface Rules {
  /** users and the assistant take turns, and no user follows a tool, as the chat templates of Mistral check it */
  alternate?: boolean;
}

/** Throws an error that names the broken rule. */
export function checkRequest(raw: string, rules: Rules = {}): void {
  const body = JSON.parse(raw);
  rule(raw.isWellFormed() && !ESCAPED.test(raw.replaceAll('\\\\', '')), 'no half surrogates and no NUL');
  const unknown = Object.keys(body).filter((name) => !TOP.includes(name));
  rule(unknown.length === 0, `no fields but those of the protocol (${unknown})`);
  rule(!('max_tokens' in body && 'max_completion_tokens' in body), 'one limit of tokens');
  checkMessages(body.messages);
  checkTools(body.tools);
  if (rules.alternate) checkTurns(body.messages);
}

const TOP = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
  'reasoning_effort',
  'max_tokens',
  'max_completion_tokens',
];
/** How JSON writes a NUL or half of a pair; a backslash that is escaped itself is taken away before. */
const ESCAPED = /\\u(?:0000|d[89a-f])/i;
const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

function rule(kept: unknown, what: string): asserts kept {
  if (!kept) throw new Error(`a request has ${what}`);
}

function checkMessages(messages: Any): void {
  rule(Array.isArray(messages) && messages.length > 0, 'messages');
  rule(messages.findLastIndex(({ role }: Any) => role === 'system') <= 0, 'at most one system message, and first');
  rule(
    messages.find(({ role }: Any) => role !== 'system')?.role === 'user',
    'a user message before any other but the system message',
  );
  rule(['user', 'tool'].includes(messages.at(-1).role), 'a user message or a result at its end');
  const ids = new Set<string>();
  let waiting: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      rule(
        waiting.shift() === message.tool_call_id,
        'one result for each call, in their order, right behind the message of the calls',
      );
      rule(isText(message.content), 'no empty result');
      continue;
    }
    rule(waiting.length === 0, 'a result for each call');
    if (message.role === 'assistant') waiting = checkStep(message, ids);
    else checkSaid(message);
  }
  rule(waiting.length === 0, 'a result for each call');
}

const isText = (content: unknown): boolean => typeof content === 'string' && content.trim() !== '';

function checkSaid({ role, content }: Any): void {
  rule(['system', 'user'].includes(role), `no role ${role}`);
  rule(Array.isArray(content) ? content.length > 0 : isText(content), `no empty message of the role ${role}`);
  if (!Array.isArray(content)) return;
  for (const part of content)
    rule(
      part.type === 'text' ? isText(part.text) : part.image_url.url.startsWith('data:image/'),
      'no empty part of a message',
    );
}

/** The ids of the calls. */
function checkStep({ content, tool_calls: calls }: Any, ids: Set<string>): string[] {
  rule(calls === undefined || (Array.isArray(calls) && calls.length > 0), 'no empty list of calls');
  rule(isText(content) || (content === null && calls), 'no empty text of the assistant');
  return (calls ?? []).map((call: Any) => {
    rule(/^[a-zA-Z0-9]{9}$/.test(call.id), `ids of nine letters or digits, not ${call.id}`);
    rule(!ids.has(call.id), `each id once (${call.id})`);
    ids.add(call.id);
    rule(
      call.type === 'function' && NAME.test(call.function.name),
      `names of tools that fit, not ${call.function?.name}`,
    );
    rule(isObject(parsed(call.function.arguments)), `arguments that are JSON objects, not ${call.function.arguments}`);
    return call.id;
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

function checkTurns(messages: Any[]): void {
  const roles = messages.filter(({ role }) => role !== 'system').map(({ role }) => role);
  roles.forEach((role, at) => {
    rule(role !== 'user' || !['user', 'tool'].includes(roles[at - 1]), 'roles that alternate');
    rule(role !== 'assistant' || roles[at - 1] !== 'assistant', 'roles that alternate');
  });
}

function checkTools(tools: Any): void {
  if (tools === undefined) return;
  rule(Array.isArray(tools) && tools.length > 0, 'no empty list of tools');
  rule(tools.length <= 128, `at most 128 tools, not ${tools.length}`);
  const names = tools.map(({ function: { name } }: Any) => name);
  rule(new Set(names).size === names.length, 'each tool once');
  for (const { type, function: tool } of tools) {
    rule(type === 'function' && NAME.test(tool.name), `names of tools that fit, not ${tool.name}`);
    rule(
      tool.parameters.type === 'object' && isObject(tool.parameters.properties),
      `an object of arguments for ${tool.name}`,
    );
    rule(!('anyOf' in tool.parameters), 'no alternatives at the top of a schema');
    checkSchema(tool.parameters, tool.name);
  }
}

const KEYWORDS = [
  ...['type', 'description', 'properties', 'required', 'items', 'enum', 'anyOf', 'default', 'format', 'pattern'],
  ...['minimum', 'maximum', 'minItems', 'maxItems', 'minLength', 'maxLength'],
];
const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'];

/** The words that Gemini takes, and for each of them the form that all others take, too. */
function checkSchema(schema: Any, where: string): void {
  rule(isObject(schema), `a schema at ${where}`);
  for (const name of Object.keys(schema)) rule(KEYWORDS.includes(name), `no keyword ${name} in a schema (${where})`);
  const { type, items, properties, required, anyOf, enum: values, format } = schema as Any;
  rule(type === undefined || TYPES.includes(type), `one type at ${where}, not ${type}`);
  rule((type === 'array') === (items !== undefined), `items of each array, and of nothing else (${where})`);
  rule(
    values === undefined ||
      (type === 'string' && values.length > 0 && values.every((value: unknown) => typeof value === 'string')),
    `a list of words at ${where}`,
  );
  rule(format === undefined || ['date-time', 'enum'].includes(format), `no format ${format}`);
  for (const name of required ?? [])
    rule(
      properties !== undefined && Object.hasOwn(properties, name),
      `no required ${name} without a schema (${where})`,
    );
  if (items !== undefined) checkSchema(items, `${where}[]`);
  for (const [name, part] of Object.entries(properties ?? {})) checkSchema(part, `${where}.${name}`);
  for (const part of anyOf ?? []) checkSchema(part, `${where}|`);
}
