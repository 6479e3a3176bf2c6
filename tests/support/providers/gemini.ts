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

/** Gemini: `POST /v1beta/models/<model>:generateContent` and `:streamGenerateContent`. */
export const gemini: Wire = {
  read: (body, url) => ({
    model: decodeURIComponent(/models\/([^:]+):/.exec(url.pathname)?.[1] ?? ''),
    stream: url.pathname.endsWith(':streamGenerateContent'),
    system: textOf(body.systemInstruction?.parts),
    turns: (body.contents as Body[]).flatMap(turns),
    tools: (body.tools ?? []).flatMap((group: Body): OfferedTool[] =>
      (group.functionDeclarations ?? []).map((tool: Body) =>
        offered(tool.name, tool.parametersJsonSchema ?? tool.parameters),
      ),
    ),
    structured: body.generationConfig?.responseMimeType === 'application/json',
  }),

  events(asked, reply, usage, n) {
    const chunk = (parts: unknown[], more: object = {}) => ({
      data: {
        ...shell(asked.model, n),
        candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
        usageMetadata: figures(usage),
      },
    });
    return [...pieces(reply.text).map((text) => chunk([{ text }])), chunk(calls(reply), { finishReason: 'STOP' })];
  },

  document: (asked, reply, usage, n) => ({
    ...shell(asked.model, n),
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [...(reply.text ? [{ text: reply.text }] : []), ...calls(reply)] },
        finishReason: 'STOP',
      },
    ],
    usageMetadata: figures(usage),
  }),

  error: (status, message) => ({ error: { code: status, message, status: kinds[status] ?? 'INTERNAL' } }),
};

const kinds: Record<number, string> = { 400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 429: 'RESOURCE_EXHAUSTED' };
const shell = (model: string, n: number) => ({ responseId: `gemini-${n}`, modelVersion: model });
const calls = (reply: Reply) =>
  reply.calls.map((call) => ({ functionCall: { id: call.id, name: call.name, args: call.args } }));

const figures = (usage: Usage) => ({
  promptTokenCount: usage.inputTokens,
  cachedContentTokenCount: usage.cachedTokens,
  candidatesTokenCount: usage.outputTokens,
  thoughtsTokenCount: 0,
  totalTokenCount: usage.inputTokens + usage.outputTokens,
});

function turns(content: Body): Turn[] {
  const parts: Body[] = content.parts ?? [];
  const text = textOf(parts);
  if (content.role === 'model')
    return [
      {
        role: 'assistant',
        text,
        calls: parts.filter((part) => part.functionCall).map((part) => part.functionCall.id ?? part.functionCall.name),
      },
    ];
  const results = parts
    .filter((part) => part.functionResponse)
    .map(
      (part): Turn => ({
        role: 'tool',
        text: String(part.functionResponse.response?.output ?? JSON.stringify(part.functionResponse.response)),
      }),
    );
  return text ? [...results, { role: 'user', text }] : results;
}
