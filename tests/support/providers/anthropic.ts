import { type Body, offered, pieces, type Reply, type Turn, textOf, type Wire } from './asked.ts';

/** Anthropic Messages: `POST /v1/messages`. */
export const anthropic: Wire = {
  read: (body) => ({
    model: body.model,
    stream: body.stream === true,
    system: textOf(body.system),
    turns: (body.messages as Body[]).flatMap(turns),
    tools: (body.tools ?? []).map((tool: Body) => offered(tool.name, tool.input_schema)),
    structured: Boolean(body.output_format ?? body.output_config?.format),
  }),

  events(asked, reply, usage, n) {
    const start = {
      ...shell(asked.model, n),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...input(usage), output_tokens: 1 },
    };
    const events: Array<{ name: string; data: unknown }> = [];
    const add = (type: string, data: object) => events.push({ name: type, data: { type, ...data } });
    add('message_start', { message: start });
    let index = 0;
    const block = (content: object, deltas: object[]) => {
      add('content_block_start', { index, content_block: content });
      for (const delta of deltas) add('content_block_delta', { index, delta });
      add('content_block_stop', { index });
      index += 1;
    };
    if (reply.text)
      block(
        { type: 'text', text: '' },
        pieces(reply.text).map((text) => ({ type: 'text_delta', text })),
      );
    for (const call of reply.calls)
      block({ type: 'tool_use', id: call.id, name: call.name, input: {} }, [
        { type: 'input_json_delta', partial_json: JSON.stringify(call.args) },
      ]);
    add('message_delta', {
      delta: { stop_reason: stop(reply), stop_sequence: null },
      usage: { ...input(usage), output_tokens: usage.outputTokens },
    });
    add('message_stop', {});
    return events;
  },

  document: (asked, reply, usage, n) => ({
    ...shell(asked.model, n),
    content: [
      ...(reply.text ? [{ type: 'text', text: reply.text }] : []),
      ...reply.calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.args })),
    ],
    stop_reason: stop(reply),
    stop_sequence: null,
    usage: { ...input(usage), output_tokens: usage.outputTokens },
  }),

  error: (status, message) => ({
    type: 'error',
    error: { type: kinds[status] ?? 'api_error', message },
    request_id: 'req_scripted',
  }),
};

const kinds: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};
const shell = (model: string, n: number) => ({ id: `msg_${n}`, type: 'message', role: 'assistant', model });
const stop = (reply: Reply) => (reply.calls.length > 0 ? 'tool_use' : 'end_turn');
/** here `input_tokens` does not include what came from the cache */
const input = (usage: { inputTokens: number; cachedTokens: number }) => ({
  input_tokens: usage.inputTokens - usage.cachedTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: usage.cachedTokens,
});

/** Results of tools come inside a user message; they are a turn of their own here. */
function turns(message: Body): Turn[] {
  const parts: Body[] = Array.isArray(message.content) ? message.content : [{ type: 'text', text: message.content }];
  const text = textOf(parts.filter((part) => part.type === 'text'));
  if (message.role === 'assistant')
    return [
      { role: 'assistant', text, calls: parts.filter((part) => part.type === 'tool_use').map((part) => part.id) },
    ];
  const results = parts
    .filter((part) => part.type === 'tool_result')
    .map((part): Turn => ({ role: 'tool', text: textOf(part.content) }));
  return text ? [...results, { role: 'user', text }] : results;
}
