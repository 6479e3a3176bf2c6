import { describe, expect, onTestFinished, test } from 'vitest';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import { DONE, jsonAnswer, refusal, startEndpoint, streamed } from './endpoint.ts';
import { askedOver, HELLO, stepped, TOOL } from './wires.ts';

/** The events of OpenAI's Responses API, as its reference shows them. */

const sent = (type: string, data: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const usage = {
  input_tokens: 50,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 12 },
  total_tokens: 80,
};
const created = sent('response.created', {
  response: { id: 'resp_1', model: 'gpt-5.6-terra', status: 'in_progress', output: [], error: null },
});
const last = (output: object[], more: object = {}) => {
  const response = {
    id: 'resp_1',
    model: 'gpt-5.6-terra',
    status: 'completed',
    output,
    usage,
    error: null,
    incomplete_details: null,
    ...more,
  };
  return sent(`response.${response.status}`, { response });
};
const added = (at: number, item: object) => sent('response.output_item.added', { output_index: at, item });
const done = (at: number, item: object) => sent('response.output_item.done', { output_index: at, item });

const thought = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Needs a file.' }],
  encrypted_content: 'gAAAAB-sealed',
  status: 'completed',
};
const call = (id: string, path: string) => ({
  id: `fc_${id}`,
  type: 'function_call',
  status: 'completed',
  call_id: `call_${id}`,
  name: 'file_read',
  arguments: JSON.stringify({ path }),
});
const message = (text: string, more: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...more,
});

const thinks = (at: number) => [
  added(at, { ...thought, summary: [], encrypted_content: '' }),
  sent('response.reasoning_summary_part.added', {
    output_index: at,
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  }),
  sent('response.reasoning_summary_text.delta', { output_index: at, summary_index: 0, delta: 'Needs ' }),
  sent('response.reasoning_summary_text.delta', { output_index: at, summary_index: 0, delta: 'a file.' }),
  done(at, thought),
];
const calling = (at: number, item: ReturnType<typeof call>) => [
  added(at, { ...item, arguments: '' }),
  sent('response.function_call_arguments.delta', { output_index: at, delta: item.arguments }),
  sent('response.function_call_arguments.done', { output_index: at, arguments: item.arguments }),
  done(at, item),
];
const saying = (at: number, ...parts: string[]) => [
  added(at, { ...message(''), content: [] }),
  ...parts.map((delta) => sent('response.output_text.delta', { output_index: at, content_index: 0, delta })),
  done(at, message(parts.join(''))),
];

const asked = (...answers: Parameters<typeof askedOver>[1]) => askedOver('responses', answers);

describe('a request', () => {
  test('asks for nothing to be stored and for encrypted thoughts, and has tools, effort and a limit in the form of this API', async () => {
    const { endpoint, ask } = await asked(streamed(created, ...saying(0, 'Hi'), last([message('Hi')])));
    await ask(HELLO, { effort: 'low', maxTokens: 5 });
    const [{ path, headers, body }] = endpoint.requests() as [ReturnType<typeof endpoint.requests>[number]];
    expect([path, headers['x-fetch-request-id']]).toEqual(['/v1/responses', 'turn_1/1']);
    expect(body).toEqual({
      model: 'm',
      instructions: 'You are Fetch.',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', ...TOOL, strict: false }],
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 16,
    });
  });

  test('has pictures inside', async () => {
    const { endpoint, ask } = await asked(streamed(created, ...saying(0, 'A dog'), last([])));
    expect((await ask([{ role: 'user', content: 'What is it?', pictures: ['aGk='] }])).text).toBe('A dog');
    expect(endpoint.requests()[0]!.body.input[0].content).toEqual([
      { type: 'input_text', text: 'What is it?' },
      { type: 'input_image', image_url: 'data:image/jpeg;base64,aGk=' },
    ]);
  });
});

describe('an answer', () => {
  test('streams thoughts and text, and says what it cost', async () => {
    const { ask, deltas } = await asked(
      streamed(created, ...thinks(0), ...saying(1, 'Hel', 'lo'), last([thought, message('Hello')])),
    );
    expect(await ask(HELLO)).toMatchObject({
      text: 'Hello',
      reasoning: 'Needs a file.',
      calls: [],
      model: 'gpt-5.6-terra',
      finishReason: 'completed',
      end: 'complete',
      usage: { inputTokens: 50, cachedTokens: 20, outputTokens: 30, reasoningTokens: 12 },
      usageEstimated: false,
    });
    expect(deltas).toEqual([
      'agent_reasoning:Needs ',
      'agent_reasoning:a file.',
      'agent_message:Hel',
      'agent_message:lo',
    ]);
  });

  test('comes whole from an endpoint that does not stream', async () => {
    const { ask, deltas } = await asked(
      jsonAnswer({ model: 'gpt-oss', status: 'completed', output: [message('Hello'), call('a', 'a.txt')] }),
    );
    expect(await ask(HELLO)).toMatchObject({
      text: 'Hello',
      calls: [{ id: 'call_a', name: 'file_read' }],
      usageEstimated: true,
    });
    expect(deltas).toEqual(['agent_message:Hello']);
  });

  test('is whole at the word of chat completions that everything was said, without the last event', async () => {
    const said = [created, ...saying(0, 'Hello')];
    const half = calling(1, call('a', 'a.txt'));
    const { ask } = await asked(
      streamed(...said, ...half, DONE),
      streamed(created, sent('response.output_text.delta', { output_index: 0, delta: 'Hello' }), DONE),
      streamed(...said, ...half.slice(0, 2), DONE),
      streamed(created, ...thinks(0), DONE),
      streamed(...said),
    );
    expect(await ask(HELLO)).toMatchObject({ text: 'Hello', calls: [{ id: 'call_a' }], end: 'complete' });
    expect(await ask(HELLO)).toMatchObject({ text: 'Hello', calls: [], end: 'complete' });
    for (let nth = 0; nth < 3; nth++) await expect(ask(HELLO)).rejects.toMatchObject({ type: 'ModelStreamBroken' });
  });

  test('is cut where the endpoint stopped at its limit, with the half that came, and nothing of it is sent back as a state', async () => {
    const half = { ...message('Half of'), status: 'incomplete' };
    const { ask } = await asked(
      streamed(
        created,
        added(0, { ...half, content: [] }),
        sent('response.output_text.delta', { output_index: 0, delta: 'Half' }),
        last([half], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
      ),
    );
    const answer = await ask(HELLO);
    expect(answer).toMatchObject({ text: 'Half of', end: 'cut', finishReason: 'max_output_tokens' });
    expect(answer.state).toBeUndefined();
  });

  test.each([
    ['a filter', last([], { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }), ''],
    [
      'the model',
      done(0, message('', { content: [{ type: 'refusal', refusal: 'I will not.' }] })) + last([]),
      'I will not.',
    ],
  ])('that %s refused is a refusal', async (_, body, text) => {
    const { ask } = await asked(streamed(created, body));
    expect(await ask(HELLO)).toMatchObject({ text, end: 'refused' });
  });
});

describe('the second step', () => {
  test('gets every item back unchanged and in order, with the results of parallel calls under the ids of the endpoint', async () => {
    const items = [thought, message('Reading.', { phase: 'commentary' }), call('a', 'a.txt'), call('b', 'b.txt')];
    const { endpoint, ask } = await asked(
      streamed(
        created,
        ...thinks(0),
        done(1, items[1]!),
        ...calling(2, call('a', 'a.txt')),
        ...calling(3, call('b', 'b.txt')),
        last(items),
      ),
      streamed(created, ...saying(0, 'A and B'), last([message('A and B')])),
    );
    const first = await ask(HELLO);
    expect(first.calls).toEqual([
      { id: 'call_a', name: 'file_read', arguments: '{"path":"a.txt"}' },
      { id: 'call_b', name: 'file_read', arguments: '{"path":"b.txt"}' },
    ]);
    expect((await ask([...HELLO, ...stepped(first)])).text).toBe('A and B');
    expect(endpoint.requests()[1]!.body.input.slice(1)).toEqual([
      ...items,
      { type: 'function_call_output', call_id: 'call_a', output: 'result 1' },
      { type: 'function_call_output', call_id: 'call_b', output: 'result 2' },
    ]);
  });

  test.each([
    ['another model', { model: 'other' }],
    ['another endpoint', { endpoint: 'http://elsewhere/v1' }],
    ['another protocol', { wire: 'chat' as const }],
  ])('is built from text and calls where %s made the first', async (_, made) => {
    const { endpoint, ask } = await asked(streamed(created, ...saying(0, 'Done'), last([])));
    const state = {
      wire: 'responses' as const,
      endpoint: endpoint.baseUrl,
      model: 'm',
      data: { items: [thought, call('a', 'a.txt')] },
      ...made,
    };
    const calls = [{ id: 'ours_1', name: 'file_read', arguments: '{"path":"a.txt"}' }];
    await ask([
      ...HELLO,
      { role: 'assistant', content: 'Reading.', calls, state },
      { role: 'tool', callId: 'ours_1', content: 'A' },
    ]);
    expect(endpoint.requests()[0]!.body.input.slice(1)).toEqual([
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Reading.', annotations: [] }] },
      {
        type: 'function_call',
        call_id: expect.stringMatching(/^[a-zA-Z0-9]{9}$/),
        name: 'file_read',
        arguments: '{"path":"a.txt"}',
      },
      { type: 'function_call_output', call_id: endpoint.requests()[0]!.body.input[2].call_id, output: 'A' },
    ]);
  });

  test('has no thought whose content stayed at the endpoint', async () => {
    const bare = { id: 'rs_1', type: 'reasoning', summary: [] };
    const { ask } = await asked(
      streamed(created, done(0, bare), ...calling(1, call('a', 'a.txt')), last([bare, call('a', 'a.txt')])),
    );
    const answer = await ask(HELLO);
    expect(answer.calls).toHaveLength(1);
    expect(answer.state).toBeUndefined();
  });
});

test('A state that the endpoint can no longer read is left out of the request', async () => {
  const { endpoint, ask } = await asked(
    streamed(created, ...thinks(0), ...calling(1, call('a', 'a.txt')), last([thought, call('a', 'a.txt')])),
    refusal(400, {
      error: { message: 'The encrypted content gAAA...aled could not be verified.', code: 'invalid_encrypted_content' },
    }),
    streamed(created, ...saying(0, 'A'), last([])),
  );
  expect((await ask([...HELLO, ...stepped(await ask(HELLO))])).text).toBe('A');
  expect(endpoint.requests().map(({ body }) => body.input.slice(1).map(({ type }: { type: string }) => type))).toEqual([
    [],
    ['reasoning', 'function_call', 'function_call_output'],
    ['function_call', 'function_call_output'],
  ]);
});

describe('a failure', () => {
  test.each([
    [
      400,
      { error: { message: 'No tool output found for function call call_a.', type: 'invalid_request_error' } },
      'ModelRejected',
      /No tool output found/,
    ],
    [
      401,
      { error: { message: 'Incorrect API key provided: sk-test-secret.' } },
      'ModelUnauthorized',
      /Incorrect API key provided: \[redacted\]/,
    ],
    [
      429,
      { error: { message: 'Rate limit reached. Please try again in 2s.' } },
      'ModelRateLimited',
      /Rate limit reached/,
    ],
    [500, { error: { message: 'The server had an error.' } }, 'ModelUnavailable', /The server had an error/],
    [529, { error: { message: 'Overloaded' } }, 'ModelUnavailable', /Overloaded/],
    [
      400,
      { error: { message: 'Your input exceeds the context window of this model.', code: 'context_length_exceeded' } },
      'ContextOverflow',
      /context window/,
    ],
  ])('with status %i is told in the words of the endpoint', async (status, body, type, words) => {
    const { ask } = await asked(refusal(status, body));
    await expect(ask(HELLO)).rejects.toMatchObject({ type, status, message: expect.stringMatching(words) });
  });

  test.each([
    [
      'the response fails',
      sent('response.failed', { response: { error: { code: 'server_error', message: 'Something broke.' } } }),
      'ModelStreamBroken',
      /Something broke/,
    ],
    [
      'an error comes',
      sent('error', { code: 'server_error', message: 'Try again.', param: null }),
      'ModelStreamBroken',
      /Try again/,
    ],
    [
      'the context is full',
      sent('response.failed', { response: { error: { code: 'context_length_exceeded', message: 'Too long.' } } }),
      'ContextOverflow',
      /Too long/,
    ],
    ['the stream ends early', '', 'ModelStreamBroken', /before the answer was finished/],
  ])('in the middle is one where %s', async (_, body, type, words) => {
    const { ask } = await asked(
      streamed(created, sent('response.output_text.delta', { output_index: 0, delta: 'Hel' }), body),
    );
    await expect(ask(HELLO)).rejects.toMatchObject({ type, message: expect.stringMatching(words) });
  });

  test('of a lost connection is one in the middle', async () => {
    const { ask } = await asked({ body: [created, ...thinks(0)], lost: true });
    await expect(ask(HELLO)).rejects.toMatchObject({ type: 'ModelStreamBroken' });
  });

  test('by a stop has the reason of the stop', async () => {
    const { ask } = await asked({ body: [created], lost: true });
    const reason = new Error('stopped');
    const stop = new AbortController();
    await expect(ask(HELLO, { signal: stop.signal, onPart: () => stop.abort(reason) })).rejects.toBe(reason);
  });

  test('of a wish that a model does not know is learned: it is asked again without', async () => {
    const { endpoint, ask } = await asked(
      refusal(400, {
        error: {
          message: 'Encrypted content is not supported with this model.',
          type: 'invalid_request_error',
          param: 'include',
        },
      }),
      refusal(400, {
        error: {
          message: 'Your organization must be verified to generate reasoning summaries.',
          param: 'reasoning.summary',
          code: 'unsupported_value',
        },
      }),
      streamed(created, ...saying(0, 'Hi'), last([])),
      streamed(created, ...saying(0, 'Hi'), last([])),
    );
    expect((await ask(HELLO)).text).toBe('Hi');
    await ask(HELLO);
    expect(endpoint.requests().map(({ body }) => [body.include !== undefined, body.reasoning !== undefined])).toEqual([
      [true, true],
      [false, true],
      [false, false],
      [false, false],
    ]);
  });
});

test.each([
  "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Use /v1/responses or set reasoning_effort to 'none'.",
  'This model is only supported in v1/responses and not in v1/chat/completions.',
  "The requested model 'm' can only be used with the Responses API.",
  'The chatCompletion operation does not work with the specified model, m.',
  'This is not a chat model and thus not supported in the v1/chat/completions endpoint.',
  "Tools cannot be used with reasoning on this endpoint unless the effort is 'none'.",
])('A model is asked over this API after a refusal of chat completions, for good: %s', async (words) => {
  const endpoint = await startEndpoint({
    answers: [streamed(created, ...saying(0, 'one'), last([])), streamed(created, ...saying(0, 'two'), last([]))],
    check: ({ path }) => (path.endsWith('/responses') ? null : refusal(400, { error: { message: words } })),
  });
  onTestFinished(() => endpoint.close());
  const model = openaiModel({ kind: 'custom', baseUrl: endpoint.baseUrl, name: 'm' });
  const ask = async () => {
    const more = { tools: [TOOL], signal: new AbortController().signal, onDelta: () => {}, requestId: 'r' };
    return (await model.complete({ model: 'm', messages: HELLO, ...more })).text;
  };
  expect([await ask(), await ask(), endpoint.requests().length]).toEqual(['one', 'two', 3]);
});
