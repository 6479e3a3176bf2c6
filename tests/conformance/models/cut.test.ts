import { describe, expect, onTestFinished, test } from 'vitest';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { LostAnswer } from '../../../src/adapters/model/model.ts';
import type { WireName } from '../../../src/contracts/model.ts';
import { callChunk, chunk, DONE, event, type ScriptedAnswer, startEndpoint } from './endpoint.ts';
import { askedOver, HELLO } from './wires.ts';

/** Answers that end in the middle, over every wire. */

const typed = (type: string, data: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const args = '{"path":"a.txt"}';
const usage = { input_tokens: 9, output_tokens: 3 };
const THOUGHT = { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'sealed' };
const called = (id: string) => ({
  type: 'function_call',
  id: `f${id}`,
  call_id: id,
  name: 'file_read',
  arguments: args,
});
const candidate = (part: object, more: object = {}) =>
  event({ candidates: [{ content: { role: 'model', parts: [part] }, ...more }] });
const words = 'I will read two files now. ';

/** Text, a thought and two calls, as parts of a stream. */
const ANSWERS: Record<WireName, string[]> = {
  chat: [
    chunk({ reasoning_content: 'Hm.' }),
    chunk({ content: words }),
    callChunk({ index: 0, id: 'x', function: { name: 'file_read', arguments: args.slice(0, 6) } }),
    callChunk({ index: 0, function: { arguments: args.slice(6) } }),
    callChunk({ index: 1, id: 'y', function: { name: 'file_read', arguments: args } }),
    chunk({}, 'tool_calls'),
    DONE,
  ],
  responses: [
    typed('response.output_item.done', { output_index: 0, item: THOUGHT }),
    typed('response.output_text.delta', { output_index: 1, delta: words }),
    typed('response.output_item.done', {
      output_index: 1,
      item: { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: words }] },
    }),
    typed('response.function_call_arguments.delta', { output_index: 2, delta: args }),
    typed('response.output_item.done', { output_index: 2, item: called('c') }),
    typed('response.output_item.done', { output_index: 3, item: called('d') }),
    typed('response.completed', { response: { status: 'completed', usage } }),
  ],
  anthropic: [
    typed('message_start', {
      message: {
        ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage },
        ...{ stop_reason: null, stop_sequence: null },
      },
    }),
    typed('content_block_start', { index: 0, content_block: { type: 'redacted_thinking', data: 'sealed' } }),
    typed('content_block_stop', { index: 0 }),
    typed('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
    typed('content_block_delta', { index: 1, delta: { type: 'text_delta', text: words } }),
    typed('content_block_stop', { index: 1 }),
    ...[2, 3].flatMap((index) => [
      typed('content_block_start', {
        index,
        content_block: { type: 'tool_use', id: `t${index}`, name: 'file_read', input: {} },
      }),
      typed('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: args } }),
      typed('content_block_stop', { index }),
    ]),
    typed('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 3 } }),
    typed('message_stop'),
  ],
  gemini: [
    candidate({ text: words }),
    candidate({ functionCall: { name: 'file_read', args: { path: 'a.txt' } }, thoughtSignature: 'sealed' }),
    candidate({ functionCall: { name: 'file_read', args: { path: 'a.txt' } } }),
    candidate({ text: '' }, { finishReason: 'STOP' }),
  ],
};

/** Bytes between two places that are tried. */
const EVERY = 41;

describe.each(Object.keys(ANSWERS) as WireName[])('over %s', (wire) => {
  const whole = Buffer.from(ANSWERS[wire].join(''));

  test('an answer is whole or broken, wherever it is cut, and its calls are all there or none', async () => {
    let sent: ScriptedAnswer = { body: whole };
    const endpoint = await startEndpoint({ check: () => sent });
    onTestFinished(() => endpoint.close());
    const facts = { read: async () => new Map([['m', { wire }]]), add: async () => {} };
    const model = openaiModel({ kind: 'custom', baseUrl: endpoint.baseUrl, name: 'm', facts });
    const calls = async (answer: ScriptedAnswer) => {
      sent = answer;
      const request = { model: 'm', messages: HELLO, tools: [], onDelta: () => {}, requestId: 'r' };
      return await model.complete({ ...request, signal: new AbortController().signal }).then(
        (heard) => heard.calls.map((call) => call.arguments),
        (error) => error.type,
      );
    };
    for (let at = 0; at < whole.length; at += EVERY) {
      const cut = await calls({ body: whole.subarray(0, at), lost: at % 2 === 0 });
      expect([[args, args], 'ModelStreamBroken']).toContainEqual(cut);
      expect(await calls({ body: [whole.subarray(0, at), whole.subarray(at)] })).toEqual([args, args]);
    }
  });

  test('what a broken or stopped answer has used is told, as an estimate', async () => {
    const half = ANSWERS[wire].slice(0, ANSWERS[wire].findIndex((part) => part.includes(words)) + 1);
    const { ask } = await askedOver(wire, [{ body: half, lost: true }, { body: half }, { body: whole }]);
    const lost: LostAnswer[] = [];
    const onLost = (one: LostAnswer) => lost.push(one);
    await expect(ask(HELLO, { onLost })).rejects.toMatchObject({ type: 'ModelStreamBroken' });
    const stop = new AbortController();
    const onDelta = (_: string, text: string) => text.includes('two files') && stop.abort(new Error('stopped'));
    await expect(ask(HELLO, { onLost, onDelta, signal: stop.signal })).rejects.toThrow('stopped');
    expect(lost).toHaveLength(2);
    for (const one of lost) {
      expect(one).toMatchObject({ model: 'm', usageEstimated: true });
      expect(one.usage.inputTokens).toBeGreaterThan(30);
      expect(one.usage.outputTokens).toBeGreaterThanOrEqual(Math.floor(words.length / 4));
    }
    await ask(HELLO, { onLost });
    expect(lost).toHaveLength(2);
  });
});
