import { afterEach, describe, expect, test } from 'vitest';
import { verifyModel } from '../../../src/adapters/model/endpoint/discover.ts';
import type { FactsStore } from '../../../src/adapters/model/endpoint/facts.ts';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { Model, ModelFacts, ModelMessage, ModelRequest, ModelTool } from '../../../src/adapters/model/model.ts';
import { checkRequest } from '../../support/request-rules.ts';
import {
  type AskedCompletion,
  callChunk,
  calls,
  chunk,
  DONE,
  refusal,
  type ScriptedAnswer,
  says,
  startEndpoint,
  streamed,
} from './endpoint.ts';

/**
 * What servers refuse. Each refusal has the bytes of its server; the sources are in the issues that the names of the
 * tests give.
 */

const open: Array<{ close(): unknown }> = [];
afterEach(async () => {
  for (const item of open.splice(0)) await item.close();
});

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any part of a body
type Any = any;
type Check = (asked: AskedCompletion) => ScriptedAnswer | null | undefined | false;

/**
 * An endpoint with a check, and a model on it. Whatever it is asked over chat completions keeps the rules of all
 * servers.
 */
async function endpoint(check: Check, answers: ScriptedAnswer[], facts?: FactsStore, name = 'm') {
  const server = await startEndpoint({ answers, check: (asked) => check(asked) || undefined });
  open.push(server);
  const model = openaiModel({ kind: 'custom', baseUrl: server.baseUrl, name, facts });
  const asked = () => server.requests().filter(({ path }) => path.endsWith('/chat/completions'));
  const bodies = () => {
    for (const { body } of asked()) checkRequest(JSON.stringify(body));
    return asked().map(({ body }) => body);
  };
  return { model, server, asked, bodies };
}

const fileRead: ModelTool = {
  name: 'file_read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};
const hello: ModelMessage[] = [{ role: 'user', content: 'hello' }];
const ask = (model: Model, messages: ModelMessage[], more: Partial<ModelRequest> = {}) =>
  model.complete({
    model: model.name,
    messages,
    tools: [fileRead],
    signal: new AbortController().signal,
    onDelta: () => {},
    requestId: 'r',
    ...more,
  });
/** A thread in which the tool was called before. */
const step = (more: object = {}, id = 'call_1'): ModelMessage[] => [
  ...hello,
  { role: 'assistant', content: '', calls: [{ id, name: 'file_read', arguments: '{"path":"a.txt"}' }], ...more },
  { role: 'tool', callId: id, content: 'A' },
];
/** Facts that outlive a process. */
function kept(): FactsStore {
  const rows = new Map<string, ModelFacts>();
  return {
    read: async () => rows,
    add: async (_, model, facts) => void rows.set(model, { ...rows.get(model), ...facts }),
  };
}
const isChat = ({ path }: AskedCompletion) => path.endsWith('/chat/completions');
const invalid = (message: string, more: object = {}, status = 400) =>
  refusal(status, { error: { message, type: 'invalid_request_error', ...more } });

describe('tools with thoughts (openai/openai-openapi#541, laurent22/joplin#16451)', () => {
  const refused = invalid(
    "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
    { param: 'reasoning_effort', code: null },
  );
  const check: Check = (asked) =>
    isChat(asked) && asked.body.tools && asked.body.reasoning_effort !== 'none' && refused;

  test.each([
    'thinking mode does not support tool calls',
    'Function calling is not available while thinking is enabled',
    "`reasoning_effort` must be 'none' when `tools` is set",
    'reasoning and tools cannot be combined',
  ])('are asked for without thoughts: %s', async (message) => {
    const { model, bodies } = await endpoint(
      (asked) => (!isChat(asked) || (asked.body.tools && asked.body.reasoning_effort !== 'none')) && invalid(message),
      [says('one')],
    );
    expect((await ask(model, hello)).text).toBe('one');
    expect(bodies().at(-1).reasoning_effort).toBe('none');
  });

  test.each([
    ['has no Responses API', refusal(404, { error: { message: 'no such path' } })],
    ['refuses the same there', refused],
    ['answers in another protocol there', says('not a response')],
  ])('are asked for without thoughts by a proxy that %s, for good', async (_, responses) => {
    const facts = kept();
    const { model, bodies } = await endpoint(
      (asked) => check(asked) || (!isChat(asked) && responses),
      [says('one'), says('two'), says('three')],
      facts,
    );
    expect((await ask(model, hello)).text).toBe('one');
    expect((await ask(model, hello, { effort: 'high' })).text).toBe('two');
    expect((await ask(model, hello, { tools: [], effort: 'high' })).text).toBe('three');
    expect(bodies().map(({ reasoning_effort: effort }) => effort)).toEqual([undefined, 'none', 'none', 'high']);
    const next = await endpoint(check, [says('again')], facts);
    expect((await ask(next.model, hello)).text).toBe('again');
    expect(next.bodies()).toHaveLength(1);
  });
});

describe("the provider's own state", () => {
  const signature = { google: { thought_signature: 'c2lnMQ==' } };
  const own = (model: Model, data: object) => ({
    state: { wire: 'chat' as const, endpoint: model.baseUrl, model: model.name, data },
  });
  const missing = refusal(400, [
    {
      error: {
        code: 400,
        message: 'Function call is missing a thought_signature in functionCall parts.',
        status: 'INVALID_ARGUMENT',
      },
    },
  ] as unknown as object);

  test('comes back on the call that had it (securo#884, continuedev/continue#8865)', async () => {
    const check: Check = ({ body }) =>
      body.messages[1].tool_calls[0].extra_content?.google?.thought_signature !== 'c2lnMQ==' && missing;
    const { model, asked } = await endpoint(check, [says('A it is')]);
    expect((await ask(model, step(own(model, { calls: [{ extra_content: signature }] })))).text).toBe('A it is');
    expect(asked()).toHaveLength(1);
  });

  test('of another model is replaced by the mark that skips the check, once the endpoint has missed it', async () => {
    const check: Check = ({ body }) => !body.messages[1].tool_calls[0].extra_content?.google && missing;
    const { model, asked } = await endpoint(check, [says('one'), says('two')]);
    const other = {
      state: {
        wire: 'chat' as const,
        endpoint: model.baseUrl,
        model: 'another',
        data: { calls: [{ extra_content: signature }] },
      },
    };
    expect((await ask(model, step(other))).text).toBe('one');
    expect((await ask(model, step(other))).text).toBe('two');
    expect(asked().map(({ body }) => body.messages[1].tool_calls[0].extra_content?.google.thought_signature)).toEqual([
      undefined,
      'skip_thought_signature_validator',
      'skip_thought_signature_validator',
    ]);
  });

  test.each([
    ['DeepSeek (earendil-works/pi#3636)', 'The reasoning_content in the thinking mode must be passed back to the API.'],
    [
      'Kimi (QuantumNous/new-api#3121)',
      'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
    ],
    ['another', 'An assistant message with tool_calls must contain reasoning_content.'],
    ['a gateway', 'thinking is enabled, but assistant message has no reasoning_content'],
    ['an empty one is enough', 'messages[1]: expected reasoning_content in thinking mode'],
  ])('is the thoughts of the model, and nothing for steps of others: %s', async (_, message) => {
    const check: Check = ({ body }) =>
      body.messages.some(
        ({ role, tool_calls, reasoning_content }: Any) =>
          role === 'assistant' && tool_calls && reasoning_content === undefined,
      ) && invalid(message);
    const { model, asked } = await endpoint(check, [says('one'), says('two')]);
    const thread = [...step(), ...step(own(model, { message: { reasoning_content: 'Needs a file.' } }), 'call_2')];
    expect((await ask(model, thread)).text).toBe('one');
    expect((await ask(model, thread)).text).toBe('two');
    expect(asked()).toHaveLength(3);
    const sent = asked()[1]!.body.messages.filter(({ role }: Any) => role === 'assistant');
    expect(sent.map(({ reasoning_content }: Any) => reasoning_content)).toEqual(['', 'Needs a file.']);
  });

  test('comes back with the ids and the fields of calls that belong to it', async () => {
    const { model, asked } = await endpoint(() => null, [says('one'), says('two')]);
    const id = 'tool_0_file_read';
    const data = {
      message: { reasoning_details: [{ type: 'reasoning.encrypted', id, data: 'z' }] },
      calls: [{ id, function_fields: { thought_signature: 's' } }],
    };
    await ask(model, step(own(model, data)));
    const [, made, result] = asked()[0]!.body.messages;
    expect([made.tool_calls[0].id, result.tool_call_id, made.reasoning_details[0].id]).toEqual([id, id, id]);
    expect(made.tool_calls[0].function).toEqual({
      name: 'file_read',
      arguments: '{"path":"a.txt"}',
      thought_signature: 's',
    });
    await ask(model, step({ state: { ...own(model, data).state, model: 'another' } }));
    expect(asked()[1]!.body.messages[1].tool_calls[0].id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  test('is the content with its thoughts where the model wants it so (MiniMax M2)', async () => {
    const think = '<think>\nNeeds a file.\n</think>\n\nI look.';
    const answers = () => [
      streamed(
        chunk({ content: think.slice(0, 20) }),
        chunk({ content: think.slice(20) }),
        callChunk({ index: 0, id: 'x1', function: { name: 'file_read', arguments: '{"path":"a.txt"}' } }),
        chunk({}, 'tool_calls'),
        DONE,
      ),
      says('A it is'),
    ];
    const contents: unknown[] = [];
    for (const name of ['MiniMax-M2.1', 'qwen3']) {
      const { model, asked } = await endpoint(() => null, answers(), undefined, name);
      const { text, reasoning, calls: made, state } = await ask(model, hello);
      expect([text.trim(), reasoning.trim()]).toEqual(['I look.', 'Needs a file.']);
      const stored = [
        ...hello,
        { role: 'assistant', content: text, calls: made, state },
        { role: 'tool', callId: made[0]!.id, content: 'A' },
      ];
      await ask(model, JSON.parse(JSON.stringify(stored)));
      contents.push(asked()[1]!.body.messages[1].content);
    }
    expect(contents).toEqual([think, 'I look.']);
  });

  test.each([
    'Could not decrypt the specified reasoning content',
    'thought_signature is expired',
    'Unable to decode thoughtSignature',
    'bad signature',
  ])('is left out where it is no longer taken: %s', async (message) => {
    const { model, asked } = await endpoint(
      ({ body }) => body.messages.some((each: Any) => each.reasoning_details) && invalid(message),
      [says('one')],
    );
    const data = { message: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'z' }] } };
    expect((await ask(model, step(own(model, data)))).text).toBe('one');
    expect(asked()).toHaveLength(2);
  });

  test.each([
    ['Invalid `signature` in `thinking` block', 400],
    ['messages.1: `thinking` blocks cannot be verified', 422],
    ['The encrypted content gAAA could not be verified.', 500],
  ])('that was refused is not sent again: %s', async (message, status) => {
    const { model, bodies } = await endpoint(
      ({ body }) =>
        body.messages.some((each: Any) => each.reasoning_details?.[0].data === 'z') && invalid(message, {}, status),
      [says('one'), says('two'), says('three'), says('four')],
    );
    const state = (data: string) =>
      own(model, { message: { reasoning_details: [{ type: 'reasoning.encrypted', data }] } });
    const thread = step(state('z'));
    const answer = await ask(model, thread, { effort: 'high' });
    await ask(model, thread, { effort: 'high' });
    // another process, with the thread as it is stored
    const later = openaiModel({ kind: 'custom', baseUrl: model.baseUrl, name: 'm' });
    const called = { id: 'call_2', name: 'file_read', arguments: '{"path":"b.txt"}' };
    const stored: ModelMessage[] = JSON.parse(
      JSON.stringify([
        ...thread,
        { role: 'assistant', content: '', calls: [called], state: answer.state },
        { role: 'tool', callId: called.id, content: 'B' },
      ]),
    );
    await ask(later, stored, { effort: 'high' });
    await ask(later, [...stored, { role: 'assistant', content: 'A and B', ...state('y') }, ...hello], {
      effort: 'high',
    });
    expect(bodies().map((body) => body.reasoning_effort)).toEqual(['high', undefined, undefined, undefined, 'high']);
    expect(
      bodies()
        .at(-1)
        .messages.flatMap((each: Any) => each.reasoning_details?.[0].data ?? []),
    ).toEqual(['y']);
  });

  test('that another model made is kept where one was refused', async () => {
    const { model, bodies } = await endpoint(
      ({ body }) => body.model === 'm' && JSON.stringify(body).includes('"z"') && invalid('bad signature'),
      [says('one'), says('two')],
    );
    const data = (each: string) => ({ message: { reasoning_details: [{ type: 'reasoning.encrypted', data: each }] } });
    const thread = [
      ...step(own(model, data('z'))),
      ...step({ state: { ...own(model, data('y')).state, model: 'another' } }, 'call_2'),
    ];
    const { text: content, state } = await ask(model, thread);
    await ask(model, [...thread, { role: 'assistant', content, state: state! }, ...hello], { model: 'another' });
    expect(JSON.stringify(bodies().at(-1))).toContain('"y"');
  });

  test('is left out where the endpoint does not know the field', async () => {
    const check: Check = ({ body }) =>
      body.messages.some((each: Any) => 'reasoning' in each) &&
      invalid("'messages.1' : for 'role:assistant' property 'reasoning' is unsupported");
    const { model, asked } = await endpoint(check, [says('one'), says('two')]);
    const thread = step(own(model, { message: { reasoning: 'Needs a file.' } }));
    expect([(await ask(model, thread)).text, (await ask(model, thread)).text]).toEqual(['one', 'two']);
    expect(asked()).toHaveLength(3);
  });
});

describe('the form of a request', () => {
  test.each([
    [
      400,
      {
        object: 'error',
        message: 'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
        type: 'invalid_function_call',
        code: '3280',
      },
    ],
    [500, { error: { message: 'Tool call IDs should be alphanumeric strings with length 9!' } }],
    [404, { error: 'Tool call IDs should be alphanumeric strings with length 9!' }],
  ])(
    'has ids that Mistral takes (nearai/ironclaw#1241, jundot/omlx#1997, ml-explore/mlx-lm#1375): %i',
    async (status, body) => {
      const fits = (id: unknown) => /^[a-zA-Z0-9]{9}$/.test(String(id));
      const check: Check = ({ body: { messages } }) =>
        messages.some(
          (each: Any) =>
            (each.tool_calls ?? []).some((call: Any) => !fits(call.id)) ||
            (each.role === 'tool' && !fits(each.tool_call_id)),
        ) && refusal(status, body);
      const { model, bodies } = await endpoint(check, [says('A')]);
      expect((await ask(model, step({}, 'call_4f1c2b7a9e'))).text).toBe('A');
      expect(bodies()).toHaveLength(1);
    },
  );

  test('has its system message first (ggml-org/llama.cpp#20733)', async () => {
    const check: Check = ({ body }) =>
      body.messages.some(({ role }: Any, at: number) => role === 'system' && at > 0) &&
      invalid('Jinja Exception: System message must be at the beginning.');
    const { model, bodies } = await endpoint(check, [says('ok')]);
    await ask(model, [
      { role: 'system', content: 'one' },
      { role: 'system', content: 'two' },
      ...hello,
      { role: 'system', content: 'later' },
    ]);
    expect(bodies()[0].messages.map(({ role }: Any) => role)).toEqual(['system', 'user', 'user']);
    expect(bodies()[0].messages[0].content).toBe('one\n\ntwo');
  });

  test('never has an empty text of the assistant, and always a question', async () => {
    const { model, bodies } = await endpoint(() => null, [says('ok'), says('ok')]);
    await ask(model, [...hello, { role: 'assistant', content: '' }, { role: 'user', content: 'again' }]);
    await ask(model, [{ role: 'assistant', content: 'A reminder.' }]);
    expect(bodies().map(({ messages }) => messages.map(({ role }: Any) => role))).toEqual([
      ['user', 'user'],
      ['user', 'assistant', 'user'],
    ]);
  });

  test('has arguments that parse, whatever the model wrote (huggingface/physics-intern#6)', async () => {
    const { model, bodies } = await endpoint(() => null, [says('ok')]);
    await ask(model, step({ calls: [{ id: 'call_1', name: 'file_read', arguments: '{"path": "a.txt",}' }] }));
    expect(JSON.parse(bodies()[0].messages[1].tool_calls[0].function.arguments)).toEqual({});
  });

  test('has short names of tools, which come back as they were (mastra-ai/mastra#6302)', async () => {
    const names = ['1', '2'].map(
      (end) => `a_server_with_quite_a_long_name.and/a_tool_with_a_name_that_is_as_long_${end}`,
    );
    const { model, server, bodies } = await endpoint(() => null, []);
    server.say(says('ok'));
    await ask(model, hello, { tools: names.map((name) => ({ ...fileRead, name })) });
    server.say(calls([bodies()[0].tools[1].function.name, { path: 'a.txt' }]));
    const answer = await ask(model, hello, { tools: names.map((name) => ({ ...fileRead, name })) });
    expect(answer.calls.map(({ name }) => name)).toEqual([names[1]]);
  });
});

describe('roles that must alternate', () => {
  const thread: ModelMessage[] = [
    { role: 'system', content: 's' },
    { role: 'user', content: 'the state of the work' },
    ...hello,
    ...step().slice(1),
    { role: 'user', content: 'a picture', pictures: ['AAAA'] },
  ];
  const breaks = ({ body: { messages } }: AskedCompletion) =>
    messages.some(({ role }: Any, at: number) => role === 'user' && ['user', 'tool'].includes(messages[at - 1]?.role));
  test.each([
    [
      500,
      {
        error: {
          code: 500,
          message:
            'Jinja Exception: After the optional system message, conversation roles must alternate user/assistant/user/assistant/...',
        },
      },
    ],
    [
      400,
      {
        object: 'error',
        message: 'Conversation roles must alternate user/assistant/user/assistant/...',
        type: 'BadRequestError',
      },
    ],
    [
      400,
      {
        object: 'error',
        message: "Unexpected role 'user' after role 'tool'",
        type: 'invalid_request_message_order',
        code: '3230',
      },
    ],
    [
      400,
      {
        object: 'error',
        message: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
      },
    ],
    [
      400,
      {
        error: {
          message:
            'After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).',
        },
      },
    ],
    [400, { error: { message: 'bad request' } }],
  ])('are folded after the refusal %i %o, for good', async (status, body) => {
    const { model, bodies } = await endpoint(
      (asked) => breaks(asked) && refusal(status, body),
      [says('one'), says('two')],
    );
    expect([(await ask(model, thread)).text, (await ask(model, thread)).text]).toEqual(['one', 'two']);
    const last = bodies().at(-1).messages;
    expect(last.map(({ role }: Any) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
    expect(last[1].content).toBe('the state of the work\n\nhello');
    expect(last.at(-1).content[1].type).toBe('image_url');
    expect((await model.facts('m')).alternates).toBe(true);
  });

  test('are known of the models of Mistral before they refuse', async () => {
    const { model, bodies } = await endpoint(
      (asked) => breaks(asked) && invalid('no'),
      [says('ok')],
      undefined,
      'mistral-small-latest',
    );
    await ask(model, thread);
    expect(bodies()).toHaveLength(1);
  });

  test.each([
    ['System role not supported', 500],
    ["Unsupported value: 'messages[0].role' does not support 'system' with this model.", 400],
    ["messages with role 'system' is not allowed", 400],
    ['Only user and assistant roles are supported!', 500],
    ['Invalid role: system', 400],
    ["'system' is not one of ['user', 'assistant']", 400],
    ['role must be one of user, assistant', 422],
    ["Input should be 'user', 'assistant' or 'tool'", 422],
    ['The model does not accept system instructions', 400],
    ['Conversation roles must alternate user/assistant', 500],
  ])('hold beside a system message that is refused: %s', async (message, status) => {
    const check: Check = ({ body }) => body.messages[0].role === 'system' && invalid(message, {}, status);
    const { model, bodies } = await endpoint(check, [says('ok')]);
    await ask(model, [{ role: 'system', content: 's' }, ...hello]);
    expect(bodies().at(-1).messages).toEqual([{ role: 'user', content: 's\n\nhello' }]);
  });
});

test.each([
  'This model only supports single tool-calls at once!',
  'Only one tool call per message is supported by this chat template.',
  'Parallel tool calls are not supported',
  'an assistant message may contain at most one tool call',
])('steps of one call are sent where the template takes no more: %s', async (message) => {
  const { model, bodies } = await endpoint(
    ({ body }) => body.messages.some(({ tool_calls }: Any) => tool_calls?.length > 1) && invalid(message, {}, 500),
    [says('one'), says('two')],
  );
  const two = ['a', 'b'].map((id) => ({ id, name: 'file_read', arguments: `{"path":"${id}.txt"}` }));
  const thread: ModelMessage[] = [
    ...hello,
    { role: 'assistant', content: 'I look.', calls: two },
    ...two.map(({ id }): ModelMessage => ({ role: 'tool', callId: id, content: id })),
  ];
  expect([(await ask(model, thread)).text, (await ask(model, thread)).text]).toEqual(['one', 'two']);
  expect(bodies()).toHaveLength(3);
  const [, ...sent] = bodies().at(-1).messages;
  expect(sent.map(({ role, content }: Any) => [role, content])).toEqual([
    ['assistant', 'I look.'],
    ['tool', 'a'],
    ['assistant', null],
    ['tool', 'b'],
  ]);
});

describe('a field that an endpoint does not know', () => {
  const limit = 'max_tokens';
  test.each([
    [
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      limit,
      { maxTokens: 5 },
    ],
    ['Unrecognized request argument supplied: stream_options', 'stream_options', {}],
    ['json: unknown field "stream_options"', 'stream_options', {}],
    ['{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"]}]}', 'stream_options', {}],
    [
      "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
      'reasoning_effort',
      { effort: 'low' },
    ],
    ['Argument not supported on this model: reasoningEffort', 'reasoning_effort', { effort: 'low' }],
    ['"gemma3" does not support thinking', 'reasoning_effort', { effort: 'low' }],
    ['Bad request', 'stream_options', {}],
  ])('is left out after "%s", for good', async (message, field, more) => {
    const { model, bodies } = await endpoint(
      ({ body }) => field in body && invalid(message, { code: 'unsupported_parameter' }),
      [says('one'), says('two')],
    );
    expect([(await ask(model, hello, more)).text, (await ask(model, hello, more)).text]).toEqual(['one', 'two']);
    expect(bodies().map((body) => field in body)).toEqual([true, false, false]);
    if (field === limit) expect(bodies().at(-1).max_completion_tokens).toBe(5);
  });

  test.each([
    'messages.1.content: none is not an allowed value',
    "Invalid value for 'content': expected a string, got null.",
    'messages[1]: missing field `content`',
    'messages.1.content: Field required',
  ])('may be a text that is null: then it is sent empty, after "%s"', async (message) => {
    const { model, asked } = await endpoint(
      ({ body }) => body.messages.some(({ content }: Any) => content === null) && invalid(message),
      [says('one')],
    );
    expect((await ask(model, step())).text).toBe('one');
    expect(asked().map(({ body }) => body.messages[1].content)).toEqual([null, '']);
  });

  test.each([
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.",
    "Invalid value: 'minimal'. Supported values are: 'low' and 'high'.",
    'unknown variant `minimal`, expected one of `low`, `medium`, `high`',
    "reasoning_effort: Input should be 'low', 'medium' or 'high'",
    'Unsupported reasoning effort: minimal. Available: low, medium, high',
  ])('may be a value: then the nearest one that it takes is sent: %s', async (message) => {
    const check: Check = ({ body }) => body.reasoning_effort === 'minimal' && invalid(message);
    const { model, bodies } = await endpoint(check, [says('one')]);
    await ask(model, hello, { effort: 'minimal' });
    expect(bodies().at(-1).reasoning_effort).toBe('low');
  });

  test.each([
    `Invalid JSON payload received. Unknown name "maxLength" at 'tools[0]': Cannot find field.`,
    'Invalid schema: unsupported keyword maxLength',
    'Unsupported JSON schema feature: maxLength',
    'failed to parse grammar',
  ])('may stand in a schema: %s', async (message) => {
    const check: Check = ({ body }) => JSON.stringify(body.tools).includes('maxLength') && invalid(message);
    const { model, bodies } = await endpoint(check, [says('one')]);
    await ask(model, hello, {
      tools: [{ ...fileRead, parameters: { type: 'object', properties: { path: { type: 'string', maxLength: 9 } } } }],
    });
    expect(bodies()).toHaveLength(2);
  });
});

describe('a refusal that no change can help', () => {
  test.each([
    ['registry.ollama.ai/library/gemma:latest does not support tools', 400],
    ['No endpoints found that support tool use.', 404],
    ['`tools` is not supported with this model', 400],
    ['Function calling is not enabled for models/gemma-3-27b-it', 400],
    ["m does not support parameters: ['tools'], for model=m", 400],
    ["Unknown parameter: 'tools'.", 400],
    ['tools: Extra inputs are not permitted', 422],
  ])('of tools is told in one true sentence: %s', async (message, status) => {
    const { model, asked } = await endpoint(({ body }) => body.tools && refusal(status, { error: { message } }), []);
    await expect(ask(model, hello)).rejects.toMatchObject({
      type: 'ModelRejected',
      message: expect.stringMatching(/^This model takes no tools/),
    });
    expect([asked().length, (await model.facts('m')).noTools]).toEqual([1, true]);
  });

  test.each([
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.",
    'Too many tools: 129 > 128',
    'the number of tools should not exceed 128',
    'tools length must be less than or equal to 128',
    'Too many functions: up to 128 functions are allowed',
  ])('of many tools teaches how many it takes: %s', async (message) => {
    const tools = Array.from({ length: 129 }, (_, n) => ({ ...fileRead, name: `t${n}` }));
    const { model, asked } = await endpoint(() => invalid(message), []);
    await expect(ask(model, hello, { tools })).rejects.toMatchObject({ type: 'ModelRejected' });
    expect([asked().length, (await model.facts('m')).maxTools]).toEqual([1, 128]);
  });

  test('ends after a few requests, and the first refusal is told', async () => {
    const { model, asked } = await endpoint(
      () => invalid('reasoning_content is missing, stream_options, roles must alternate, system role not supported'),
      [],
    );
    await expect(ask(model, [...hello, ...hello], { effort: 'low', maxTokens: 5 })).rejects.toMatchObject({
      type: 'ModelRejected',
    });
    expect(asked().length).toBeLessThan(12);
  });
});

test('the test of a model sends a tool and a second step, so it sees what a turn sees', async () => {
  const refused = invalid(
    "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Use /v1/responses or set reasoning_effort to 'none'.",
  );
  const server = await startEndpoint({
    answers: [calls(['get_word', {}]), says('ready')],
    check: (asked) =>
      isChat(asked)
        ? asked.body.tools && asked.body.reasoning_effort !== 'none'
          ? refused
          : null
        : refusal(404, { error: { message: 'no such path' } }),
  });
  open.push(server);
  expect(await verifyModel({ OPENAI_BASE_URL: server.baseUrl, AGENT_MODEL: 'm' })).toMatchObject({
    ok: true,
    learned: expect.stringContaining('no thoughts beside tools'),
  });
  const asked = server.requests().filter(isChat);
  expect(asked.at(-1)!.body.messages.map(({ role }: Any) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
});
