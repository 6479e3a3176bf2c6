import { describe, expect, it } from 'vitest';
import { allowList, parseTarget } from '../../../src/adapters/kennel/gate/egress/allow-list.ts';
import { answeredHeaders, createRedact, sentHeaders } from '../../../src/adapters/kennel/gate/model/headers.ts';
import { routeOf } from '../../../src/adapters/kennel/gate/model/routes.ts';
import { upstreamsOf } from '../../../src/adapters/kennel/gate/model/upstreams.ts';

describe('what the model socket passes on', () => {
  it.each([
    ['POST', '/anthropic/v1/messages?beta=true', '/v1/messages?beta=true', 'anthropic'],
    ['POST', '/anthropic/v1/messages/count_tokens', '/v1/messages/count_tokens', null],
    ['GET', '/anthropic/v1/models/claude-opus-5', '/v1/models/claude-opus-5', null],
    ['POST', '/openai/v1/chat/completions', '/chat/completions', 'chat'],
    ['POST', '/openai/v1/responses', '/responses', 'responses'],
    ['GET', '/openai/v1/models/openai/gpt-5', '/models/openai/gpt-5', null],
    [
      'POST',
      '/gemini/v1beta/models/gemini-2.5-pro:generateContent?key=abc',
      '/v1beta/models/gemini-2.5-pro:generateContent',
      'gemini',
    ],
    [
      'POST',
      '/gemini/v1beta/models/gemini-3.6-flash:streamGenerateContent?alt=sse&key=abc',
      '/v1beta/models/gemini-3.6-flash:streamGenerateContent?alt=sse',
      'gemini',
    ],
    ['POST', '/gemini/v1beta/models/gemini-2.5-pro:countTokens', '/v1beta/models/gemini-2.5-pro:countTokens', null],
  ])('is %s %s', (method, url, path, wire) => {
    expect(routeOf(method, url)).toMatchObject({ path, wire });
  });

  it('takes the model of Gemini from the path', () => {
    expect(routeOf('POST', '/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent')?.model).toBe('gemini-2.5-pro');
  });

  it.each([
    ['GET', '/anthropic/v1/messages'],
    ['POST', '/anthropic/v1/messages/batches'],
    ['POST', '/anthropic/v1/files'],
    ['POST', '/anthropic/v1/complete'],
    ['GET', '/anthropic/v1/organizations/me'],
    ['POST', '/anthropic/../openai/v1/chat/completions'],
    ['POST', '/anthropic/v1/messages/../files'],
    ['GET', '/anthropic/v1/models/..%2ffiles'],
    ['GET', '/openai/v1/models/../files'],
    ['GET', '/openai/v1/files'],
    ['GET', '/openai/v1/responses/resp_1'],
    ['POST', '/openai/v1/images/generations'],
    ['POST', '/openai/chat/completions'],
    ['POST', '/gemini/v1beta/cachedContents'],
    ['POST', '/gemini/v1beta/models/x:batchGenerateContent'],
    ['POST', '/gemini/v1beta/models/x:generateContent/../../files'],
    ['POST', '/geminix/v1beta/models/x:generateContent'],
    ['POST', 'http://169.254.169.254/anthropic/v1/messages'],
    ['POST', '//evil.example/v1/messages'],
    ['GET', '/'],
    ['POST', ''],
  ])('is not %s %s', (method, url) => {
    expect(routeOf(method, url)).toBeNull();
  });
});

describe('where it goes', () => {
  const none = {
    ANTHROPIC_BASE_URL: 'https://api.anthropic.com',
    GOOGLE_GEMINI_BASE_URL: 'https://generativelanguage.googleapis.com',
  };
  const settings = (more: object) =>
    upstreamsOf({
      ANTHROPIC_API_KEY: undefined,
      GEMINI_API_KEY: undefined,
      OPENAI_BASE_URL: undefined,
      OPENAI_API_KEY: undefined,
      OPENROUTER_API_KEY: undefined,
      AGENT_MODEL: undefined,
      FETCH_FALLBACK_MODEL: undefined,
      ...none,
      ...more,
    });

  it('says what is missing', () => {
    const { anthropic, openai, gemini } = settings({});
    expect([anthropic, openai, gemini]).toEqual([
      { why: expect.stringContaining('ANTHROPIC_API_KEY') },
      { why: expect.stringContaining('put in a key on my page') },
      { why: expect.stringContaining('GEMINI_API_KEY') },
    ]);
  });

  it('keeps the path of a base URL, and gives each endpoint its own kind of credential', () => {
    const { anthropic, openai, gemini } = settings({
      ANTHROPIC_BASE_URL: 'https://proxy.example/anthropic/',
      ANTHROPIC_API_KEY: 'key-a',
      OPENROUTER_API_KEY: 'key-o',
      GEMINI_API_KEY: 'key-g',
    });
    expect(anthropic).toMatchObject({
      upstream: { origin: 'https://proxy.example', base: '/anthropic', credential: { 'x-api-key': 'key-a' } },
    });
    expect(openai).toMatchObject({
      upstream: { origin: 'https://openrouter.ai', base: '/api/v1', credential: { authorization: 'Bearer key-o' } },
    });
    expect(gemini).toMatchObject({ upstream: { credential: { 'x-goog-api-key': 'key-g' } } });
  });

  it('needs no key for an endpoint of its own', () => {
    expect(settings({ OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' }).openai).toMatchObject({
      upstream: { base: '/v1', credential: {}, secrets: [] },
    });
    expect(settings({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:9/x' }).anthropic).toMatchObject({
      upstream: { credential: {} },
    });
  });
});

describe('headers', () => {
  it('leave behind what a container claims to be, cookies, and what belongs to one connection', () => {
    const sent = sentHeaders(
      {
        'x-api-key': 'dummy',
        authorization: 'Bearer dummy',
        'x-goog-api-key': 'dummy',
        cookie: 'a=b',
        host: 'localhost:4010',
        connection: 'keep-alive, x-secret-hop',
        'x-secret-hop': '1',
        'x-forwarded-for': '10.0.0.1',
        'accept-encoding': 'gzip',
        'openai-organization': 'org',
        'anthropic-version': '2023-06-01',
        'user-agent': 'agent/1',
      },
      { 'x-api-key': 'real' },
    );
    expect(sent).toEqual({
      'anthropic-version': '2023-06-01',
      'user-agent': 'agent/1',
      'accept-encoding': 'identity',
      'x-api-key': 'real',
    });
  });

  it('of an answer tell neither cookies, nor the account, nor the key', () => {
    const answered = answeredHeaders(
      {
        'set-cookie': ['a=b'],
        'anthropic-organization-id': 'org',
        'content-type': 'text/plain',
        'x-echo': 'got real-key-1',
        connection: 'close',
      },
      createRedact(['real-key-1']),
    );
    expect(answered).toEqual({ 'content-type': 'text/plain', 'x-echo': 'got **********' });
  });
});

describe('the list of hosts', () => {
  const allowed = (list: string[], target: string): boolean => allowList(list)(parseTarget(target)!);

  it.each([
    [['example.com'], 'example.com:443', true],
    [['example.com'], 'EXAMPLE.com.:80', true],
    [['example.com'], 'example.com:22', false],
    [['example.com:22'], 'example.com:22', true],
    [['example.com:22'], 'example.com:443', false],
    [['example.com'], 'sub.example.com:443', false],
    [['example.com'], 'notexample.com:443', false],
    [['*.example.com'], 'a.b.example.com:443', true],
    [['*.example.com'], 'example.com:443', false],
    [['*.example.com'], 'evilexample.com:443', false],
    [['*.example.com'], 'example.com.evil.org:443', false],
    [['bücher.example'], 'xn--bcher-kva.example:443', true],
    [['EXAMPLE.com '], 'example.com:443', true],
    [[], 'example.com:443', false],
  ])('%j: %s is %s', (list, target, expected) => {
    expect(allowed(list, target)).toBe(expected);
  });

  it.each([
    'example.com',
    'example.com:0',
    'example.com:99999',
    'http://example.com:443',
    'a b:443',
    'user@example.com:443',
    ':443',
    '[::1:443',
    'exa\r\nmple.com:443',
  ])('takes %j for no target', (text) => {
    expect(parseTarget(text)).toBeNull();
  });

  it.each(['*', '*.', 'https://example.com', 'example.com/path', 'foo*.example.com', 'a..b'])(
    'refuses the entry %j instead of passing it over',
    (entry) => {
      expect(() => allowList([entry])).toThrow('is not a host that can be allowed');
    },
  );
});
