import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedact } from '../../../src/adapters/kennel/gate/model/headers.ts';
import { createMeter } from '../../../src/adapters/kennel/gate/model/meter.ts';
import type { Wire } from '../../../src/adapters/kennel/gate/model/routes.ts';
import { priceBook } from '../../../src/domain/model/price-book.ts';
import { holds } from '../../support/property.ts';

const prices = priceBook(undefined, { ours: false, local: true });
const sse = (...events: unknown[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');

/** Real shapes of the four protocols, as their references have them. */
const STREAMS: Record<Wire, { body: string; model: string; input: number; output: number; microUsd: number }> = {
  anthropic: {
    body: sse(
      {
        type: 'message_start',
        message: {
          model: 'claude-sonnet-4-5-20250929',
          usage: {
            input_tokens: 100,
            cache_creation_input_tokens: 40,
            cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 0 },
            cache_read_input_tokens: 1000,
            output_tokens: 2,
          },
        },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hällo' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 50 } },
      { type: 'message_stop' },
    ),
    model: 'claude-sonnet-4-5-20250929',
    input: 1140,
    output: 50,
    // 100 fresh and 40 at 1.25 at $3, 1000 cached at $0.30, 50 out at $15
    microUsd: 150 * 3 + 300 + 750,
  },
  chat: {
    body: sse(
      { model: 'gpt-5', choices: [{ delta: { content: 'Hi' } }], usage: null },
      {
        model: 'gpt-5',
        choices: [],
        usage: { prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 200 } },
      },
      '[DONE]',
    ),
    model: 'gpt-5',
    input: 1000,
    output: 10,
    microUsd: 800 * 1.25 + 200 * 0.125 + 100,
  },
  responses: {
    body: sse(
      { type: 'response.created', response: { model: 'gpt-5', usage: null } },
      { type: 'response.output_text.delta', delta: 'Hi' },
      {
        type: 'response.completed',
        response: {
          model: 'gpt-5',
          usage: { input_tokens: 1000, input_tokens_details: { cached_tokens: 0 }, output_tokens: 20 },
        },
      },
    ),
    model: 'gpt-5',
    input: 1000,
    output: 20,
    microUsd: 1250 + 200,
  },
  gemini: {
    body: sse(
      {
        modelVersion: 'gemini-3.6-flash',
        candidates: [{ content: { parts: [{ text: 'Hi' }] } }],
        usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 1 },
      },
      {
        modelVersion: 'gemini-3.6-flash',
        candidates: [{ content: { parts: [] }, finishReason: 'STOP' }],
        usageMetadata: {
          promptTokenCount: 100,
          cachedContentTokenCount: 40,
          toolUsePromptTokenCount: 10,
          candidatesTokenCount: 5,
          thoughtsTokenCount: 7,
        },
      },
    ),
    model: 'gemini-3.6-flash',
    input: 110,
    output: 12,
    microUsd: 70 * 1.5 + 40 * 0.15 + 12 * 7.5,
  },
};

describe('usage of a streamed answer', () => {
  it.each(Object.keys(STREAMS) as Wire[])('of %s is read however the stream is cut into chunks', (wire) => {
    const expected = STREAMS[wire];
    const bytes = Buffer.from(expected.body);
    holds(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        const meter = createMeter({
          wire,
          contentType: 'text/event-stream; charset=utf-8',
          model: 'asked',
          requestBytes: 400,
          prices,
        });
        const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        for (let at = 1; at < edges.length; at += 1) meter.feed(bytes.subarray(edges[at - 1]!, edges[at]!));
        expect(meter.finish()).toEqual({
          model: expected.model,
          calls: 1,
          inputTokens: expected.input,
          outputTokens: expected.output,
          microUsd: Math.ceil(expected.microUsd),
          estimated: false,
        });
      }),
      { runs: 50 },
    );
  });

  it.each(Object.keys(STREAMS) as Wire[])('of %s that is cut before its figures is estimated, not free', (wire) => {
    const { body } = STREAMS[wire];
    const meter = createMeter({ wire, contentType: 'text/event-stream', model: 'asked', requestBytes: 3000, prices });
    meter.feed(Buffer.from(body.slice(0, body.indexOf('\n\n') + 2)));
    const usage = meter.finish();
    expect(usage).toMatchObject({ estimated: true, calls: 1 });
    expect(usage.inputTokens).toBeGreaterThanOrEqual(100);
    expect(usage.outputTokens).toBeGreaterThan(0);
  });
});

describe('usage of a whole answer', () => {
  const whole = (wire: Wire, body: unknown, requestBytes = 300) => {
    const meter = createMeter({ wire, contentType: 'application/json', model: 'asked', requestBytes, prices });
    meter.feed(Buffer.from(JSON.stringify(body)));
    return meter.finish();
  };

  it('is read in all four protocols', () => {
    expect(
      whole('anthropic', {
        type: 'message',
        model: 'claude-opus-5',
        content: [],
        usage: { input_tokens: 10, output_tokens: 5 },
      }),
    ).toMatchObject({
      inputTokens: 10,
      outputTokens: 5,
      microUsd: 175,
      estimated: false,
    });
    expect(whole('chat', { model: 'm', choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } })).toMatchObject(
      { inputTokens: 3, outputTokens: 4 },
    );
    expect(
      whole('responses', { object: 'response', model: 'm', usage: { input_tokens: 3, output_tokens: 4 } }),
    ).toMatchObject({
      inputTokens: 3,
      outputTokens: 4,
    });
    // a stream without `alt=sse` is an array
    expect(
      whole('gemini', [
        { candidates: [] },
        { candidates: [{ finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 } },
      ]),
    ).toMatchObject({
      model: 'asked',
      inputTokens: 3,
      outputTokens: 4,
      estimated: false,
    });
  });

  it('takes the price that the provider itself says', () => {
    expect(
      whole('chat', { model: 'x/unknown', usage: { prompt_tokens: 3, completion_tokens: 4, cost: 0.0123456 } })
        .microUsd,
    ).toBe(12_346);
  });

  it('is estimated where the server does not count, or says something else than numbers', () => {
    expect(whole('chat', { model: 'm', choices: [{ message: { content: 'x'.repeat(300) } }] })).toMatchObject({
      inputTokens: 100,
      outputTokens: 100,
      estimated: true,
    });
    expect(whole('chat', { usage: { prompt_tokens: -5, completion_tokens: 'many' } })).toMatchObject({
      inputTokens: 100,
      estimated: true,
    });
    expect(whole('anthropic', 'nonsense')).toMatchObject({ inputTokens: 100, estimated: true });
    expect(whole('gemini', null)).toMatchObject({ inputTokens: 100, estimated: true });
  });

  it('is at least what was asked when there was no answer', () => {
    const meter = createMeter({
      wire: 'anthropic',
      contentType: null,
      model: 'claude-opus-5',
      requestBytes: 3000,
      prices,
    });
    expect(meter.finish()).toMatchObject({ model: 'claude-opus-5', inputTokens: 1000, estimated: true });
  });
});

describe('the key in an answer', () => {
  const key = 'sk-abab-abc';

  it('is never passed on, however the stream is cut, and nothing else is changed', () => {
    const piece = fc.oneof(
      fc.constant(key),
      fc.constant(key.slice(0, 6)),
      fc.constant('sk-'),
      fc.constantFrom('a', 'b', 's', 'ü', '\n'),
    );
    holds(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.array(fc.nat(200), { maxLength: 8 }), (pieces, cuts) => {
        const bytes = Buffer.from(pieces.join(''));
        const redact = createRedact([key]);
        const edges = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
        const out: Buffer[] = [];
        for (let at = 1; at < edges.length; at += 1)
          out.push(Buffer.from(redact.chunk(bytes.subarray(edges[at - 1]!, edges[at]!))));
        out.push(redact.end());
        expect(Buffer.concat(out).toString()).toBe(bytes.toString().replaceAll(key, '*'.repeat(key.length)));
      }),
      { runs: 300 },
    );
  });

  it('does not hold a stream back', () => {
    expect(createRedact([key]).chunk(Buffer.from('data: {}\n\n')).toString()).toBe('data: {}\n\n');
  });
});
