import { APIConnectionError, APIError } from 'openai';
import { describe, expect, test } from 'vitest';
import { classify, isContextOverflow, redact } from '../../../src/adapters/model/request/classify.ts';

/** As the SDK makes it of an answer with this status and body. */
const answered = (status: number, body: object, headers: Record<string, string> = {}) =>
  APIError.generate(status, 'error' in body ? body : { error: body }, undefined, new Headers(headers));
const said = (message: string, more: object = {}) => ({ error: { message, ...more } });

describe('a refused request', () => {
  test.each([
    [401, said('scripted 401'), 'ModelUnauthorized', 'Authentication failed: scripted 401'],
    [403, said('no access'), 'ModelUnauthorized', 'Authorization failed: no access'],
    [403, said('your input was flagged'), 'ModelRejected', 'Authorization failed: your input was flagged'],
    [402, said('no credits'), 'ModelPaymentRequired', 'LLM error: HTTP 402: no credits'],
    [404, said('scripted 404'), 'ModelNotFound', 'Invalid request (404): scripted 404'],
    [400, said('bad tool'), 'ModelRejected', 'Invalid request (400): bad tool'],
    [400, { detail: 'plain detail' }, 'ModelRejected', 'Invalid request (400): plain detail'],
    [
      400,
      said('Your credit balance is too low'),
      'ModelPaymentRequired',
      'Invalid request (400): Your credit balance is too low',
    ],
    [413, said('Payload too big'), 'ModelRejected', 'Invalid request (413): Payload too big'],
    [422, said('prompt is too long: 9 > 8'), 'ContextOverflow', 'Invalid request (422): prompt is too long: 9 > 8'],
    [400, said('x', { code: 'context_length_exceeded' }), 'ContextOverflow', 'Invalid request (400): x'],
    [429, said('slow down'), 'ModelRateLimited', 'Rate limit exceeded: slow down'],
    [429, said('empty', { code: 'insufficient_quota' }), 'ModelPaymentRequired', 'Rate limit exceeded: empty'],
    [429, said('x', { code: 'project_spend_limit_exceeded' }), 'ModelPaymentRequired', 'Rate limit exceeded: x'],
    [
      429,
      said('x', { details: { error_code: 'enforced_spend_limit_reached' } }),
      'ModelPaymentRequired',
      'Rate limit exceeded: x',
    ],
    [
      429,
      said('You exceeded your current quota'),
      'ModelPaymentRequired',
      'Rate limit exceeded: You exceeded your current quota',
    ],
    [
      429,
      said('Your current quota is limit: 0, model'),
      'ModelPaymentRequired',
      'Rate limit exceeded: Your current quota is limit: 0, model',
    ],
    [408, said('late'), 'ModelUnavailable', 'LLM error: HTTP 408: late'],
    [409, said('busy'), 'ModelUnavailable', 'LLM error: HTTP 409: busy'],
    [500, said('scripted 500'), 'ModelUnavailable', 'Server error (500): scripted 500'],
    [529, said('overloaded'), 'ModelUnavailable', 'Server error (529): overloaded'],
    [
      502,
      said('Provider returned error', { metadata: { raw: 'upstream died' } }),
      'ModelUnavailable',
      'Server error (502): Provider returned error (upstream died)',
    ],
  ] as const)('%i %j is %s', (status, body, type, message) => {
    const error = classify(answered(status, body));
    expect([error.type, error.message, error.status]).toEqual([type, message, status]);
  });

  test('x-should-retry of the endpoint overrules the status, except for a key and an overflow', () => {
    const obey = (status: number, value: string, message = 'x') =>
      classify(answered(status, said(message), { 'x-should-retry': value })).type;
    expect(obey(400, 'true')).toBe('ModelUnavailable');
    expect(obey(503, 'false')).toBe('ModelRejected');
    expect(obey(401, 'true')).toBe('ModelUnauthorized');
    expect(obey(400, 'true', 'prompt is too long')).toBe('ContextOverflow');
  });

  test('the wait that a rate limit asks for is kept', () => {
    expect(classify(answered(429, said('x'), { 'retry-after': '7' })).retryAfterMs).toBe(7_000);
  });

  test('what names a time is waited for: a full minute of Gemini, money that OpenRouter has bound, a limit that is not to be knocked at', () => {
    const gemini = said('You exceeded your current quota', { details: [{ retryDelay: '26s' }] });
    expect(classify(answered(429, gemini))).toMatchObject({ type: 'ModelRateLimited', retryAfterMs: 26_000 });
    expect(classify(answered(402, said('in flight'), { 'retry-after': '5' }))).toMatchObject({
      type: 'ModelRateLimited',
      retryAfterMs: 5_000,
    });
    expect(classify(answered(429, said('x'), { 'retry-after': '9', 'x-should-retry': 'false' }))).toMatchObject({
      type: 'ModelRateLimited',
    });
  });
});

test.each([
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
  'Your input exceeds the context window of this model',
  'prompt is too long: 213462 tokens > 200000 maximum',
  'Input is too long for requested model.',
  'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)',
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
  'Please reduce the length of the messages or completion.',
  'the request exceeds the available context size. try increasing the context size',
  'Trying to keep the first 5000 tokens when context the overflows. However, the prompt is greater than the context length',
  'invalid params, context window exceeds limit',
  'Invalid request: Your request exceeded model token limit: 262144',
  'Range of input length should be [1, 30720]',
  'Prompt contains 40000 tokens and is too large for model with 32768 maximum context length',
  'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
  "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
  'prompt token count of 70000 exceeds the limit of 64000',
  "The request's token count 5000 exceeds the n_ctx 4096",
  'The total number of tokens in the input (5000) and max_new_tokens (100) exceeds 4096',
  "'messages' too long: 5000 tokens, max 4096",
  'Request too large for gpt-oss-120b in organization x on tokens per minute (TPM): Limit 8000, Requested 9000',
  'the model is loaded with context length of only 4096 tokens, which is not enough',
])('"%s" is an overflow of the context', (message) => {
  expect(isContextOverflow(message)).toBe(true);
});

test.each([
  'Missing required parameter: messages',
  "Unsupported value: 'temperature'",
  'max_tokens must be at least 1',
  'Unknown tool',
  'max_tokens is too large: 99999. This model supports at most 4096 completion tokens',
  'Tokens per day limit exceeded: 100000',
  'The request exceeds the limit of 20 images',
  'Too many tools: the maximum is 128',
  'image exceeds 5 MB maximum',
])('"%s" is none', (message) => {
  expect(isContextOverflow(message)).toBe(false);
});

describe('a lost connection', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
  const reset = new TypeError('terminated', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  });
  test('before the answer is an endpoint that does not answer', () => {
    const error = classify(new APIConnectionError({ cause: new TypeError('fetch failed', { cause: refused }) }));
    expect([error.type, error.message]).toEqual([
      'ModelUnavailable',
      'Network error: Connection failed: connect ECONNREFUSED 127.0.0.1:9',
    ]);
  });
  test('in the middle of the answer is a broken stream', () => {
    expect(classify(reset, { phase: 'stream' }).type).toBe('ModelStreamBroken');
  });
});

test('an error inside a stream is classified by the status in its code, and without one breaks the stream', () => {
  const inside = (error: object) =>
    classify(new APIError(undefined, error, undefined, undefined), { phase: 'stream' }).type;
  expect(inside({ code: 429, message: 'x' })).toBe('ModelRateLimited');
  expect(inside({ code: '502', message: 'x' })).toBe('ModelUnavailable');
  expect(inside({ message: 'maximum context length is 5' })).toBe('ContextOverflow');
  expect(inside({ type: 'server_error', message: 'x' })).toBe('ModelStreamBroken');
});

test('an error that is not the endpoint’s stays an internal one', () => {
  expect(classify(new RangeError('bug')).type).toBe('Internal');
});

test('no message holds a key', () => {
  const key = 'AbCd1234EfGh';
  const text = `${key} sk-proj-abcdef123456 Bearer tok.en https://u:p@host/?api_key=zzz&x=1`;
  expect(redact(text, [key])).toBe(
    '[redacted] [redacted] Bearer [redacted] https://[redacted]@host/?api_key=[redacted]&x=1',
  );
  expect(classify(answered(401, said(`Incorrect API key provided: ${key}`)), { secrets: [key] }).message).not.toContain(
    key,
  );
});
