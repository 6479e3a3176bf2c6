import {
  type Body,
  type OfferedTool,
  offered,
  pieces,
  type Reply,
  type Turn,
  textOf,
  type Usage,
  type Wire,
} from './asked.ts';

/** OpenAI Responses: `POST /responses`. */
export const responses: Wire = {
  read: (body) => ({
    model: body.model,
    stream: body.stream === true,
    system: [
      body.instructions ?? '',
      ...(Array.isArray(body.input) ? body.input : [])
        .filter((item: Body) => item.role === 'developer')
        .map((item: Body) => textOf(item.content)),
    ].join('\n'),
    turns:
      typeof body.input === 'string' ? [{ role: 'user', text: body.input }] : (body.input as Body[]).flatMap(turns),
    // Codex in its "code mode" offers its tools inside the input
    tools: [
      ...(body.tools ?? []),
      ...(Array.isArray(body.input) ? body.input : []).flatMap((item: Body) => item.tools ?? []),
    ].flatMap(tools),
    structured: body.text?.format?.type === 'json_schema',
  }),

  events(asked, reply, usage, n) {
    const events: Array<{ name: string; data: unknown }> = [];
    const add = (type: string, data: object) =>
      events.push({ name: type, data: { type, sequence_number: events.length, ...data } });
    const open = { ...shell(asked.model, n), status: 'in_progress', output: [], usage: null };
    add('response.created', { response: open });
    add('response.in_progress', { response: open });
    items(reply, n).forEach((item, output_index) => {
      const begun =
        item.type === 'message' ? { ...item, status: 'in_progress', content: [] } : { ...item, status: 'in_progress' };
      add('response.output_item.added', { output_index, item: begun });
      if (item.type === 'message') {
        const place = { item_id: item.id, output_index, content_index: 0 };
        add('response.content_part.added', { ...place, part: { type: 'output_text', text: '', annotations: [] } });
        for (const delta of pieces(reply.text)) add('response.output_text.delta', { ...place, delta });
        add('response.output_text.done', { ...place, text: reply.text });
        add('response.content_part.done', {
          ...place,
          part: { type: 'output_text', text: reply.text, annotations: [] },
        });
      }
      add('response.output_item.done', { output_index, item });
    });
    add('response.completed', { response: finished(asked.model, reply, usage, n) });
    return events;
  },

  document: (asked, reply, usage, n) => finished(asked.model, reply, usage, n),
  error: (status, message) => ({
    error: { message, type: 'scripted', code: status === 401 ? 'invalid_api_key' : null },
  }),
};

const shell = (model: string, n: number) => ({ id: `resp_${n}`, object: 'response', created_at: 1_700_000_000, model });

const finished = (model: string, reply: Reply, usage: Usage, n: number) => ({
  ...shell(model, n),
  status: 'completed',
  output: items(reply, n),
  usage: {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.inputTokens + usage.outputTokens,
  },
});

type Item = { type: string; id: string; [more: string]: unknown };

function items(reply: Reply, n: number): Item[] {
  const message = {
    type: 'message',
    id: `msg_${n}`,
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: reply.text, annotations: [] }],
  };
  const calls = reply.calls.map((call, at): Item => {
    const head = { id: `fc_${n}_${at}`, call_id: call.id, status: 'completed', name: call.name };
    const place = call.tool?.namespace ? { namespace: call.tool.namespace } : {};
    if (call.tool?.kind === 'custom')
      return { ...head, ...place, type: 'custom_tool_call', input: String(call.args.input ?? '') };
    return { ...head, ...place, type: 'function_call', arguments: JSON.stringify(call.args) };
  });
  return reply.text ? [message, ...calls] : calls;
}

function tools(tool: Body): OfferedTool[] {
  if (tool.type === 'namespace')
    return (tool.tools ?? []).flatMap(tools).map((one: OfferedTool) => ({ ...one, namespace: tool.name }));
  if (tool.type === 'custom')
    return [{ name: tool.name, properties: { input: 'string' }, required: ['input'], kind: 'custom' }];
  return tool.type === 'function' ? [offered(tool.name, tool.parameters)] : [];
}

function turns(item: Body): Turn[] {
  if (item.type === 'function_call' || item.type === 'custom_tool_call')
    return [{ role: 'assistant', text: '', calls: [item.call_id] }];
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output')
    return [{ role: 'tool', text: textOf(item.output) }];
  if (item.role === 'user' || item.role === 'assistant') return [{ role: item.role, text: textOf(item.content) }];
  return [];
}
