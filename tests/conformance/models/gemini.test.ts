import { describe, expect, test } from 'vitest';
import { event, refusal, streamed } from './endpoint.ts';
import { askedOver, expectWire, HELLO, stepped, TOOL } from './wires.ts';

/** The events of Gemini's streamGenerateContent, as ai.google.dev/api/generate-content shows them. */

const MODEL = 'gemini-3-pro-preview';
const usageMetadata = {
  promptTokenCount: 50,
  cachedContentTokenCount: 20,
  candidatesTokenCount: 18,
  thoughtsTokenCount: 12,
  totalTokenCount: 80,
};
const sent = (parts: object[], finishReason?: string) =>
  event({
    candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }), index: 0 }],
    usageMetadata,
    modelVersion: MODEL,
    responseId: 'r1',
  });
const text = (words: string, more: object = {}) => ({ text: words, ...more });
const call = (path: string, more: object = {}) => ({ functionCall: { name: 'file_read', args: { path } }, ...more });
const end = (reason = 'STOP') => sent([text('')], reason);

const asked = (...answers: Parameters<typeof askedOver>[1]) => askedOver('gemini', answers, MODEL);
const failed = (code: number, status: string, message: string, details: object[] = []) =>
  refusal(code, { error: { code, message, status, details } });

describe('a request', () => {
  test('has the key, the system text, tools with their schemas, effort and a limit in the form of this API', async () => {
    const { endpoint, ask } = await asked(streamed(sent([text('Hi')], 'STOP')));
    await ask(HELLO, { effort: 'low', maxTokens: 500 });
    const [{ path, headers, body }] = endpoint.requests() as [ReturnType<typeof endpoint.requests>[number]];
    expect([path, headers['x-goog-api-key'], headers['x-fetch-request-id']]).toEqual([
      `/v1/models/${MODEL}:streamGenerateContent?alt=sse`,
      'sk-test-secret',
      'turn_1/1',
    ]);
    expect(body).toEqual({
      generationConfig: { maxOutputTokens: 500, thinkingConfig: { thinkingLevel: 'low', includeThoughts: true } },
      systemInstruction: { parts: [{ text: 'You are Fetch.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      tools: [
        {
          functionDeclarations: [
            { name: TOOL.name, description: TOOL.description, parametersJsonSchema: TOOL.parameters },
          ],
        },
      ],
    });
  });

  test('goes to the native API where the base URL is that of chat completions', async () => {
    const { endpoint, ask } = await askedOver(
      'gemini',
      [streamed(sent([text('Hi')], 'STOP'))],
      `models/${MODEL}`,
      '/openai',
    );
    await ask(HELLO);
    expect(endpoint.requests()[0]!.path).toBe(`/v1/models/${MODEL}:streamGenerateContent?alt=sse`);
  });

  test('has pictures inside', async () => {
    const { endpoint, ask } = await asked(streamed(sent([text('A dog')], 'STOP')));
    expect((await ask([{ role: 'user', content: 'What is it?', pictures: ['aGk='] }])).text).toBe('A dog');
    expect(endpoint.requests()[0]!.body.contents[0].parts).toEqual([
      { text: 'What is it?' },
      { inlineData: { mimeType: 'image/jpeg', data: 'aGk=' } },
    ]);
  });
});

test('Only the own host of Gemini is asked so by itself', () =>
  expectWire('gemini', 'https://generativelanguage.googleapis.com/v1beta/openai'));

describe('an answer', () => {
  test('streams thoughts and text, and says what it cost, thoughts and cache included', async () => {
    const { ask, deltas } = await asked(
      streamed(sent([text('Needs a file.', { thought: true })]), sent([text('Hel')]), sent([text('lo')]), end()),
    );
    expect(await ask(HELLO)).toMatchObject({
      text: 'Hello',
      reasoning: 'Needs a file.',
      calls: [],
      finishReason: 'STOP',
      end: 'complete',
      usage: { inputTokens: 50, cachedTokens: 20, outputTokens: 30, reasoningTokens: 12 },
      usageEstimated: false,
    });
    expect(deltas).toEqual(['agent_reasoning:Needs a file.', 'agent_message:Hel', 'agent_message:lo']);
  });

  test('is whole where the connection is lost behind its reason', async () => {
    const { ask } = await asked({ body: sent([text('Reading')]) + sent([call('a.txt')], 'STOP'), lost: true });
    expect(await ask(HELLO)).toMatchObject({
      text: 'Reading',
      calls: [{ name: 'file_read' }],
      end: 'complete',
      usage: { inputTokens: 50 },
    });
  });

  test('is cut at the limit', async () => {
    const { ask } = await asked(streamed(sent([text('Half of')], 'MAX_TOKENS')));
    const answer = await ask(HELLO);
    expect(answer).toMatchObject({ text: 'Half of', end: 'cut', finishReason: 'MAX_TOKENS' });
    expect(answer.state).toBeUndefined();
  });

  test.each([
    ['the answer', sent([text('Well')], 'SAFETY'), 'Well'],
    [
      'the question',
      event({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 5 } }),
      '',
    ],
  ])('is a refusal where a filter stopped %s', async (_, body, said) => {
    const { ask } = await asked(streamed(body));
    expect(await ask(HELLO)).toMatchObject({ text: said, end: 'refused' });
  });
});

describe('the second step', () => {
  test('gets each signature back on its part, and the results of parallel calls in one message', async () => {
    const { endpoint, ask } = await asked(
      streamed(
        sent([text('Needs two files.', { thought: true })]),
        sent([text('Reading.')]),
        sent([call('a.txt', { thoughtSignature: 'c2lnMQ==' }), call('b.txt')]),
        end(),
      ),
      streamed(sent([text('A and B')]), sent([text('', { thoughtSignature: 'c2lnMg==' })], 'STOP')),
      streamed(sent([text('Bye')], 'STOP')),
    );
    const first = await ask(HELLO);
    expect(first.calls.map(({ name, arguments: args }) => [name, args])).toEqual([
      ['file_read', '{"path":"a.txt"}'],
      ['file_read', '{"path":"b.txt"}'],
    ]);
    const history = [...HELLO, ...stepped(first)];
    const second = await ask(history);
    expect(second.text).toBe('A and B');
    const { contents } = endpoint.requests()[1]!.body;
    const [one, two] = first.calls;
    expect(contents.slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { text: 'Needs two files.', thought: true },
          { text: 'Reading.' },
          { functionCall: { id: one!.id, name: 'file_read', args: { path: 'a.txt' } }, thoughtSignature: 'c2lnMQ==' },
          { functionCall: { id: two!.id, name: 'file_read', args: { path: 'b.txt' } } },
        ],
      },
      {
        role: 'user',
        parts: [
          {
            functionResponse: { id: one!.id, name: 'file_read', response: { name: 'file_read', content: 'result 1' } },
          },
          {
            functionResponse: { id: two!.id, name: 'file_read', response: { name: 'file_read', content: 'result 2' } },
          },
        ],
      },
    ]);
    await ask([...history, ...stepped(second), { role: 'user', content: 'Thanks' }]);
    expect(endpoint.requests()[2]!.body.contents.at(-2)).toEqual({
      role: 'model',
      parts: [{ text: 'A and B', thoughtSignature: 'c2lnMg==' }],
    });
  });

  test('of a step that another model made has the mark that skips the check of signatures', async () => {
    const { endpoint, ask } = await asked(streamed(sent([text('Done')], 'STOP')));
    await ask([
      ...HELLO,
      { role: 'assistant', content: '', calls: [{ id: 'call_1', name: 'file_read', arguments: '{"path":"a.txt"}' }] },
      { role: 'tool', callId: 'call_1', content: 'A' },
    ]);
    expect(endpoint.requests()[0]!.body.contents[1].parts).toEqual([
      {
        functionCall: expect.objectContaining({ name: 'file_read', args: { path: 'a.txt' } }),
        thoughtSignature: 'skip_thought_signature_validator',
      },
    ]);
  });
});

describe('a failure', () => {
  test.each([
    [400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.', 'ModelRejected'],
    [
      400,
      'INVALID_ARGUMENT',
      'The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).',
      'ContextOverflow',
    ],
    [403, 'PERMISSION_DENIED', 'API key not valid.', 'ModelUnauthorized'],
    [404, 'NOT_FOUND', 'models/gemini-nope is not found', 'ModelNotFound'],
    [500, 'INTERNAL', 'An internal error has occurred.', 'ModelUnavailable'],
    [503, 'UNAVAILABLE', 'The model is overloaded.', 'ModelUnavailable'],
  ])('with status %i (%s) is told in the words of the endpoint: %s', async (code, status, words, type) => {
    const { ask } = await asked(failed(code, status, words));
    await expect(ask(HELLO)).rejects.toMatchObject({ type, status: code, message: expect.stringContaining(words) });
  });

  test('that comes as a list is told, too', async () => {
    const { ask } = await asked(
      refusal(400, [
        { error: { code: 400, message: 'Request contains an invalid argument.', status: 'INVALID_ARGUMENT' } },
      ]),
    );
    await expect(ask(HELLO)).rejects.toMatchObject({
      type: 'ModelRejected',
      message: expect.stringContaining('invalid argument'),
    });
  });

  test('of a wish for thoughts is learned, where a model does not think', async () => {
    const { endpoint, ask } = await asked(
      failed(400, 'INVALID_ARGUMENT', `Thinking is not enabled for models/${MODEL}`),
      streamed(sent([text('Hi')], 'STOP')),
      streamed(sent([text('Hi')], 'STOP')),
    );
    expect((await ask(HELLO)).text).toBe('Hi');
    await ask(HELLO);
    expect(endpoint.requests().map(({ body }) => body.generationConfig.thinkingConfig)).toEqual([
      { includeThoughts: true },
      undefined,
      undefined,
    ]);
  });

  test('by a limit says how long to wait', async () => {
    const delay = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' };
    const { ask } = await asked(failed(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', [delay]));
    await expect(ask(HELLO)).rejects.toMatchObject({ type: 'ModelRateLimited', retryAfterMs: 34_000 });
  });

  test.each([
    [
      'an error comes',
      event({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
      'ModelUnavailable',
      /overloaded/,
    ],
    ['the stream ends early', '', 'ModelStreamBroken', /broken off/],
    [
      'the call of the model cannot be read',
      sent([], 'MALFORMED_FUNCTION_CALL'),
      'ModelStreamBroken',
      /MALFORMED_FUNCTION_CALL/,
    ],
  ])('in the middle is one where %s', async (_, body, type, words) => {
    const { ask } = await asked(streamed(sent([text('Hel')]), body));
    await expect(ask(HELLO)).rejects.toMatchObject({ type, message: expect.stringMatching(words) });
  });

  test('of a lost connection is one in the middle', async () => {
    const { ask } = await asked({ body: [sent([text('Hel')])], lost: true });
    await expect(ask(HELLO)).rejects.toMatchObject({ type: 'ModelStreamBroken' });
  });

  test('by a stop has the reason of the stop', async () => {
    const { ask } = await asked({ body: [sent([text('Hel')])], lost: true });
    const reason = new Error('stopped');
    const stop = new AbortController();
    await expect(ask(HELLO, { signal: stop.signal, onPart: () => stop.abort(reason) })).rejects.toBe(reason);
  });
});
