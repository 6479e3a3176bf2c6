import { type Body, offered, pieces, type Reply, textOf, type Usage, type Wire } from './asked.ts';

/** OpenAI Chat Completions: `POST /chat/completions`. */
export const chat: Wire = {
  read: (body) => ({
    model: body.model,
    stream: body.stream === true,
    system: textOf(body.messages.filter((message: Body) => message.role === 'system' || message.role === 'developer')),
    turns: (body.messages as Body[])
      .filter((message) => ['user', 'assistant', 'tool'].includes(message.role))
      .map((message) => ({
        role: message.role,
        text: textOf(message.content),
        calls: (message.tool_calls ?? []).map((call: Body) => call.id),
      })),
    tools: (body.tools ?? []).flatMap((tool: Body) =>
      tool.function ? [offered(tool.function.name, tool.function.parameters)] : [],
    ),
    structured: ['json_object', 'json_schema'].includes(body.response_format?.type),
  }),

  events(asked, reply, usage, n) {
    const chunk = (choices: unknown[], more: object = {}) => ({
      data: { ...shell(asked.model, n), object: 'chat.completion.chunk', choices, ...more },
    });
    const delta = (part: object) => chunk([{ index: 0, delta: part, finish_reason: null }]);
    return [
      delta({ role: 'assistant', content: '' }),
      ...pieces(reply.text).map((content) => delta({ content })),
      ...calls(reply).flatMap((call, index) => [
        delta({
          tool_calls: [{ index, id: call.id, type: call.type, function: { name: call.function.name, arguments: '' } }],
        }),
        delta({ tool_calls: [{ index, function: { arguments: call.function.arguments } }] }),
      ]),
      chunk([{ index: 0, delta: {}, finish_reason: finish(reply) }]),
      chunk([], { usage: figures(usage) }),
      { data: '[DONE]' },
    ];
  },

  document: (asked, reply, usage, n) => ({
    ...shell(asked.model, n),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: reply.text || null,
          ...(reply.calls.length > 0 ? { tool_calls: calls(reply) } : {}),
        },
        finish_reason: finish(reply),
      },
    ],
    usage: figures(usage),
  }),

  error: (status, message) => ({
    error: {
      message,
      type: status === 401 ? 'invalid_request_error' : 'scripted',
      code: status === 401 ? 'invalid_api_key' : null,
    },
  }),
};

const shell = (model: string, n: number) => ({ id: `chatcmpl-${n}`, created: 1_700_000_000, model });
const finish = (reply: Reply) => (reply.calls.length > 0 ? 'tool_calls' : 'stop');
const calls = (reply: Reply) =>
  reply.calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.args) },
  }));

const figures = (usage: Usage) => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedTokens },
  completion_tokens_details: { reasoning_tokens: 0 },
});
