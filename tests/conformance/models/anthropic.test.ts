import { describe, expect, test } from 'vitest';
import { refusal, streamed } from './endpoint.ts';
import { askedOver, expectWire, HELLO, stepped, TOOL } from './wires.ts';

/** The events of Anthropic's Messages API, as docs.anthropic.com/en/api/messages-streaming shows them. */

const MODEL = 'claude-sonnet-4-5';
const sent = (type: string, data: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const start = sent('message_start', {
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, cache_creation_input_tokens: 5, cache_read_input_tokens: 30, output_tokens: 1 },
  },
});
const PING = sent('ping');
const block = (index: number, content_block: object, ...deltas: object[]) =>
  [
    sent('content_block_start', { index, content_block }),
    ...deltas.map((delta) => sent('content_block_delta', { index, delta })),
    sent('content_block_stop', { index }),
  ].join('');
const end = (stop_reason: string) =>
  sent('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 25 } }) +
  sent('message_stop');

const thinking = (index: number) =>
  block(
    index,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Needs ' },
    { type: 'thinking_delta', thinking: 'a file.' },
    { type: 'signature_delta', signature: 'EqQB-signed' },
  );
const redacted = (index: number) => block(index, { type: 'redacted_thinking', data: 'EmwK-sealed' });
const saying = (index: number, ...parts: string[]) =>
  block(index, { type: 'text', text: '' }, ...parts.map((text) => ({ type: 'text_delta', text })));
const calling = (index: number, id: string, path: string) =>
  block(
    index,
    { type: 'tool_use', id, name: 'file_read', input: {} },
    { type: 'input_json_delta', partial_json: '' },
    { type: 'input_json_delta', partial_json: '{"path":' },
    { type: 'input_json_delta', partial_json: `"${path}"}` },
  );

const asked = (...answers: Parameters<typeof askedOver>[1]) => askedOver('anthropic', answers, MODEL);
const failed = (status: number, type: string, message: string, headers: Record<string, string> = {}) =>
  refusal(status, { type: 'error', error: { type, message }, request_id: 'req_1' }, headers);

describe('a request', () => {
  test('has the key, a limit that this model has, and marks for the cache on tools, system and the end of the history', async () => {
    const { endpoint, ask } = await asked(streamed(start, saying(0, 'Hi'), end('end_turn')));
    await ask(HELLO);
    const [{ path, headers, body }] = endpoint.requests() as [ReturnType<typeof endpoint.requests>[number]];
    const cache_control = { type: 'ephemeral' };
    expect([path, headers['x-api-key'], headers['anthropic-version'], headers['x-fetch-request-id']]).toEqual([
      '/v1/messages',
      'sk-test-secret',
      '2023-06-01',
      'turn_1/1',
    ]);
    expect(body).toEqual({
      model: MODEL,
      max_tokens: 32_000,
      system: [{ type: 'text', text: 'You are Fetch.', cache_control }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello', cache_control }] }],
      tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.parameters, cache_control }],
      stream: true,
    });
  });

  test('turns effort into a budget for thoughts, which is added to the limit of the answer', async () => {
    const { endpoint, ask } = await asked(streamed(start, saying(0, 'Hi'), end('end_turn')));
    await ask(HELLO, { effort: 'low', maxTokens: 500 });
    const { thinking: thoughts, max_tokens } = endpoint.requests()[0]!.body;
    expect(thoughts).toMatchObject({ type: 'enabled' });
    expect(thoughts.budget_tokens).toBeGreaterThanOrEqual(1024);
    expect(max_tokens).toBe(thoughts.budget_tokens + 500);
  });

  test('has pictures inside', async () => {
    const { endpoint, ask } = await asked(streamed(start, saying(0, 'A dog'), end('end_turn')));
    expect((await ask([{ role: 'user', content: 'What is it?', pictures: ['aGk='] }])).text).toBe('A dog');
    expect(endpoint.requests()[0]!.body.messages[0].content).toMatchObject([
      { type: 'text', text: 'What is it?' },
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aGk=' } },
    ]);
  });
});

test('Only the own host of Anthropic is asked so by itself', () =>
  expectWire('anthropic', 'https://api.anthropic.com/v1'));

describe('an answer', () => {
  test('streams thoughts and text, and says what it cost with what came from the cache', async () => {
    const { ask, deltas } = await asked(streamed(start, PING, thinking(0), saying(1, 'Hel', 'lo'), end('end_turn')));
    expect(await ask(HELLO)).toMatchObject({
      text: 'Hello',
      reasoning: 'Needs a file.',
      calls: [],
      model: 'claude-sonnet-4-5-20250929',
      finishReason: 'end_turn',
      end: 'complete',
      usage: { inputTokens: 45, cachedTokens: 30, outputTokens: 25 },
      usageEstimated: false,
    });
    expect(deltas).toEqual([
      'agent_reasoning:Needs ',
      'agent_reasoning:a file.',
      'agent_message:Hel',
      'agent_message:lo',
    ]);
  });

  test('is cut at the limit, with the half call that came', async () => {
    const half = block(
      1,
      { type: 'tool_use', id: 'toolu_1', name: 'file_read', input: {} },
      { type: 'input_json_delta', partial_json: '{"path":"a' },
    );
    const { ask } = await asked(streamed(start, saying(0, 'Reading'), half, end('max_tokens')));
    const answer = await ask(HELLO);
    expect(answer).toMatchObject({
      text: 'Reading',
      end: 'cut',
      calls: [{ name: 'file_read', arguments: '{"path":"a' }],
    });
    expect(answer.state).toBeUndefined();
  });

  test.each([
    ['the stream ends behind its reason', false, /$/],
    ['the connection is lost behind its reason', true, /$/],
    ['the stream ends in the line of its reason', false, /\n\n$/],
    ['the lines end as on Windows', false, /$/, '\r\n'],
  ])('is whole where %s', async (_, lost, left, newline = '\n') => {
    const cut = end('tool_use').split('event: message_stop')[0]!.replace(left, '');
    const body = (start + saying(0, 'Reading') + calling(1, 'toolu_1', 'a.txt') + cut).replaceAll('\n', newline);
    const { ask } = await asked({ body, lost });
    expect(await ask(HELLO)).toMatchObject({
      text: 'Reading',
      calls: [{ name: 'file_read', arguments: '{"path":"a.txt"}' }],
      finishReason: 'tool_use',
      end: 'complete',
      usage: { inputTokens: 45, outputTokens: 25 },
      usageEstimated: false,
      state: { wire: 'anthropic' },
    });
  });

  test('that is lost behind its reason is cut where that is the reason', async () => {
    const cut = end('max_tokens').split('event: message_stop')[0]!;
    const { ask } = await asked({ body: start + saying(0, 'Half') + cut, lost: true });
    expect(await ask(HELLO)).toMatchObject({ text: 'Half', end: 'cut' });
  });

  test('that the model refused is a refusal', async () => {
    const { ask } = await asked(streamed(start, saying(0, 'I will not'), end('refusal')));
    expect(await ask(HELLO)).toMatchObject({ text: 'I will not', end: 'refused', finishReason: 'refusal' });
  });

  test('is read past an event that did not exist when this was written, and then gives no state', async () => {
    const { ask } = await asked(
      streamed(start, saying(0, 'Hel'), sent('weather_report', { sky: 'blue' }), saying(1, 'lo'), end('end_turn')),
    );
    const answer = await ask(HELLO);
    expect(answer).toMatchObject({ text: 'Hel\n\nlo', end: 'complete' });
    expect(answer.state).toBeUndefined();
  });
});

describe('the second step', () => {
  test('gets thoughts back first and unchanged, sealed ones too, and the results of parallel calls in one message', async () => {
    const { endpoint, ask } = await asked(
      streamed(
        start,
        thinking(0),
        redacted(1),
        saying(2, 'Reading.'),
        calling(3, 'toolu_1', 'a.txt'),
        calling(4, 'toolu_2', 'b.txt'),
        end('tool_use'),
      ),
      streamed(start, saying(0, 'A and B'), end('end_turn')),
    );
    const first = await ask(HELLO);
    expect(first.calls).toEqual([
      { id: 'toolu_1', name: 'file_read', arguments: '{"path":"a.txt"}' },
      { id: 'toolu_2', name: 'file_read', arguments: '{"path":"b.txt"}' },
    ]);
    expect((await ask([...HELLO, ...stepped(first)])).text).toBe('A and B');
    const { messages } = endpoint.requests()[1]!.body;
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Needs a file.', signature: 'EqQB-signed' },
          { type: 'redacted_thinking', data: 'EmwK-sealed' },
          { type: 'text', text: 'Reading.' },
          { type: 'tool_use', id: 'toolu_1', name: 'file_read', input: { path: 'a.txt' } },
          { type: 'tool_use', id: 'toolu_2', name: 'file_read', input: { path: 'b.txt' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'result 1' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: 'result 2', cache_control: { type: 'ephemeral' } },
        ],
      },
    ]);
    expect(messages[0].content[0].cache_control).toEqual({ type: 'ephemeral' });
  });

  test('of a step that another model made has its text and calls, and no thoughts', async () => {
    const { endpoint, ask } = await asked(streamed(start, saying(0, 'Done'), end('end_turn')));
    const state = {
      wire: 'anthropic' as const,
      endpoint: endpoint.baseUrl,
      model: 'claude-other',
      data: { parts: [{ kind: 'thought', text: 'x', meta: { signature: 'y' } }] },
    };
    await ask([
      ...HELLO,
      { role: 'assistant', content: '', calls: [{ id: 'call:1', name: 'file_read', arguments: 'not json' }], state },
      { role: 'tool', callId: 'call:1', content: 'A' },
      { role: 'user', content: 'And now?' },
    ]);
    const [, step, results] = endpoint.requests()[0]!.body.messages;
    const [use] = step.content;
    expect(step.content).toEqual([{ type: 'tool_use', id: use.id, name: 'file_read', input: {} }]);
    expect(use.id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(results.content).toMatchObject([
      { type: 'tool_result', tool_use_id: use.id, content: 'A' },
      { type: 'text', text: 'And now?' },
    ]);
  });
});

describe('a refused thought', () => {
  const words = [
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.',
  ];
  test.each(words)('is left out of this request and of later ones: %s', async (said) => {
    const { endpoint, ask } = await asked(
      streamed(start, thinking(0), calling(1, 'toolu_1', 'a.txt'), end('tool_use')),
      failed(400, 'invalid_request_error', said),
      streamed(start, saying(0, 'A'), end('end_turn')),
      streamed(start, saying(0, 'A'), end('end_turn')),
    );
    const history = [...HELLO, ...stepped(await ask(HELLO, { effort: 'low' }))];
    expect((await ask(history, { effort: 'low' })).text).toBe('A');
    await ask(history, { effort: 'low' });
    const kinds = endpoint
      .requests()
      .map(({ body }) => [body.thinking?.type, body.messages[1]?.content.map(({ type }: { type: string }) => type)]);
    expect(kinds.slice(1)).toEqual([
      ['enabled', ['thinking', 'tool_use']],
      [undefined, ['tool_use']],
      [undefined, ['tool_use']],
    ]);
  });
});

describe('a failure', () => {
  test.each([
    [400, 'invalid_request_error', 'messages.1: tool_use ids were found without tool_result blocks', 'ModelRejected'],
    [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum', 'ContextOverflow'],
    [
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API.',
      'ModelPaymentRequired',
    ],
    [401, 'authentication_error', 'invalid x-api-key', 'ModelUnauthorized'],
    [404, 'not_found_error', 'model: claude-nope', 'ModelNotFound'],
    [500, 'api_error', 'Internal server error', 'ModelUnavailable'],
    [529, 'overloaded_error', 'Overloaded', 'ModelUnavailable'],
  ])('with status %i (%s) is told in the words of the endpoint: %s', async (status, kind, words, type) => {
    const { ask } = await asked(failed(status, kind, words));
    await expect(ask(HELLO)).rejects.toMatchObject({ type, status, message: expect.stringContaining(words) });
  });

  test('by a limit says how long to wait', async () => {
    const { ask } = await asked(
      failed(429, 'rate_limit_error', 'This request would exceed your rate limit.', { 'retry-after': '7' }),
    );
    await expect(ask(HELLO)).rejects.toMatchObject({ type: 'ModelRateLimited', retryAfterMs: 7_000 });
  });

  test('that comes as the first event is one of the endpoint', async () => {
    const { ask } = await asked(
      streamed(sent('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })),
    );
    await expect(ask(HELLO)).rejects.toMatchObject({
      type: 'ModelUnavailable',
      status: 529,
      message: expect.stringContaining('Overloaded'),
    });
  });

  test.each([
    [
      'an error comes',
      sent('error', { error: { type: 'api_error', message: 'Something broke.' } }),
      'ModelUnavailable',
      /Something broke/,
    ],
    ['the stream ends early', '', 'ModelStreamBroken', /broken off/],
    ['an event is no JSON', 'event: content_block_delta\ndata: {"type":\n\n', 'ModelStreamBroken', /unreadable/],
    ['the context is full', end('model_context_window_exceeded'), 'ContextOverflow', /context/],
  ])('in the middle is one where %s', async (_, body, type, words) => {
    const { ask } = await asked(streamed(start, saying(0, 'Hel'), body));
    await expect(ask(HELLO)).rejects.toMatchObject({ type, message: expect.stringMatching(words) });
  });

  test('of a lost connection is one in the middle', async () => {
    const { ask } = await asked({ body: [start, saying(0, 'Hel')], lost: true });
    await expect(ask(HELLO)).rejects.toMatchObject({ type: 'ModelStreamBroken' });
  });

  test('by a stop has the reason of the stop', async () => {
    const { ask } = await asked({ body: [start, saying(0, 'Hel')], lost: true });
    const reason = new Error('stopped');
    const stop = new AbortController();
    await expect(ask(HELLO, { signal: stop.signal, onPart: () => stop.abort(reason) })).rejects.toBe(reason);
  });

  test('is no secret: the key is not in it', async () => {
    const { ask } = await asked(failed(401, 'authentication_error', 'invalid x-api-key sk-test-secret'));
    await expect(ask(HELLO)).rejects.toMatchObject({ message: expect.stringMatching(/\[redacted\]/) });
  });
});
