import { describe, expect, test } from 'vitest';
import type { ModelTool } from '../../../src/adapters/model/model.ts';
import { Accumulator, type BodyEnd, type WireChunk } from '../../../src/adapters/model/stream/accumulate.ts';

const put = (chunks: WireChunk[], { end = 'closed', tools = [] }: { end?: BodyEnd; tools?: ModelTool[] } = {}) => {
  const deltas: string[] = [];
  const asked = { model: 'asked', tools, onDelta: (kind: string, text: string) => void deltas.push(`${kind}:${text}`) };
  const answer = new Accumulator(asked, { endpoint: 'http://here/v1', promptChars: 40 });
  for (const chunk of chunks) answer.add(chunk);
  return { answer: answer.finish(end), deltas };
};
const delta = (part: object, finish_reason: string | null = null): WireChunk => ({
  choices: [{ delta: part, finish_reason }],
});
const calls = (...parts: object[]) => delta({ tool_calls: parts });
const end = delta({}, 'tool_calls');

test('text and reasoning are joined and told as they come', () => {
  const { answer, deltas } = put([
    delta({ content: null }),
    delta({ reasoning_content: 'hm' }),
    delta({ reasoning: 'm' }),
    delta({ content: 'a' }),
    delta({ content: 'b' }, 'stop'),
  ]);
  expect(answer).toMatchObject({ text: 'ab', reasoning: 'hmm', finishReason: 'stop', model: 'asked' });
  expect(deltas).toEqual(['agent_reasoning:hm', 'agent_reasoning:m', 'agent_message:a', 'agent_message:b']);
});

test('usage of the last chunk counts, and is estimated where there is none', () => {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 4,
    prompt_tokens_details: { cached_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 2 },
  };
  expect(put([delta({ content: 'a' }, 'stop'), { choices: [], usage }]).answer).toMatchObject({
    usage: { inputTokens: 9, outputTokens: 4, cachedTokens: 5, reasoningTokens: 2 },
    usageEstimated: false,
  });
  expect(put([delta({ content: '12345678' }, 'stop')]).answer).toMatchObject({
    usage: { inputTokens: 10, outputTokens: 2 },
    usageEstimated: true,
  });
});

describe('tool calls', () => {
  test.each([
    [
      'in pieces by index',
      [
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: '' } }),
        calls({ index: 1, id: 'b', function: { name: 'g', arguments: '{' } }),
        calls({ index: 0, function: { arguments: '{}' } }),
        calls({ index: 1, function: { arguments: '}' } }),
      ],
    ],
    [
      'without an index',
      [
        calls({ id: 'a', function: { name: 'f', arguments: '{' } }),
        calls({ function: { arguments: '}' } }),
        calls({ id: 'b', function: { name: 'g', arguments: '{}' } }),
      ],
    ],
    [
      'whole, every one numbered 0',
      [
        calls(
          { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } },
          { index: 0, id: 'b', function: { name: 'g', arguments: '{}' } },
        ),
      ],
    ],
    [
      'with the id and the name repeated',
      [
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }),
        calls({ index: 0, id: 'a', function: { name: 'f', arguments: '}' } }),
        calls({ index: 1, id: 'b', function: { name: 'g', arguments: {} } }),
      ],
    ],
  ])('come together when they arrive %s', (_title, chunks) => {
    expect(put([...chunks, end]).answer.calls).toEqual([
      { id: 'a', name: 'f', arguments: '{}' },
      { id: 'b', name: 'g', arguments: '{}' },
    ]);
  });

  test('a new id in every chunk is still one call', () => {
    expect(
      put([
        calls({ index: 0, id: 'x1', function: { name: 'f', arguments: '{' } }),
        calls({ index: 0, id: 'x2', function: { arguments: '}' } }),
        end,
      ]).answer.calls,
    ).toEqual([{ id: 'x1', name: 'f', arguments: '{}' }]);
  });

  test('missing and equal ids become different ones, and empty arguments an empty object', () => {
    const { answer } = put([
      calls(
        { index: 0, function: { name: 'f' } },
        { index: 1, id: 'same', function: { name: 'g' } },
        { index: 2, id: 'same', function: { name: 'h' } },
      ),
      end,
    ]);
    expect(new Set(answer.calls.map((call) => call.id)).size).toBe(3);
    expect(answer.calls.every((call) => call.id !== '' && call.arguments === '{}')).toBe(true);
  });

  test('a call without a name is dropped, and an answer of nothing else is broken', () => {
    const nameless = calls({ index: 0, id: 'a', function: { arguments: '{}' } });
    expect(put([delta({ content: 'hi' }), nameless, end]).answer.calls).toEqual([]);
    expect(() => put([nameless, end])).toThrow(expect.objectContaining({ type: 'ModelStreamBroken' }));
  });
});

test.each([[[delta({ content: 'half' })]], [[delta({ content: 'half' }, 'error')]], [[]]])(
  'a stream that ends unfinished is broken',
  (chunks) => {
    expect(() => put(chunks)).toThrow(expect.objectContaining({ type: 'ModelStreamBroken' }));
  },
);

test('a whole answer, and content in parts, are read like a stream', () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'yes' },
  ];
  expect(put([{ choices: [{ message: { content }, finish_reason: 'stop' }] }]).answer).toMatchObject({
    text: 'yes',
    reasoning: 'hm',
  });
});
