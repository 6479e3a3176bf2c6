import { afterAll, beforeAll, expect, it } from 'vitest';
import { factsAddress } from '../../../src/adapters/model/endpoint/facts.ts';
import { factsIn } from '../../../src/store/turns/steps/model-facts.ts';
import {
  type AskedCompletion,
  callChunk,
  chunk,
  DONE,
  event,
  refusal,
  type ScriptedAnswer,
  type ScriptedEndpoint,
  startEndpoint,
  streamed,
} from '../../conformance/models/endpoint.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';

/**
 * Turns of two steps over chat completions, OpenAI's Responses, Anthropic and Gemini. One server speaks all four. It
 * refuses a request that lacks what it gave with an earlier step of the same model, and one that has what it gave with
 * a step of another.
 */

const SEALS = {
  chat: 'sealed-by-a-chat-model',
  responses: 'sealed-by-openai',
  anthropic: 'sealed-by-anthropic',
  gemini: 'sealed-by-gemini',
} as const;
type Wire = keyof typeof SEALS;
const WIRES = Object.keys(SEALS) as Wire[];

let app: TestApp;
let endpoint: ScriptedEndpoint;
beforeAll(async () => {
  endpoint = await startEndpoint({
    check: answerTo,
    pages: { '/v1/models': { data: WIRES.map((wire) => ({ id: `m-${wire}` })) } },
  });
  app = await startTestApp({ OPENAI_BASE_URL: endpoint.baseUrl, AGENT_MODEL: 'm-responses' });
  const facts = factsIn(app.store.db);
  for (const wire of WIRES) await facts.add(factsAddress(endpoint.baseUrl), `m-${wire}`, { wire });
});
afterAll(async () => {
  await app?.close();
  await endpoint?.close();
});

/** Steps with a call that this wire's model was asked to make so far; each has left its seal. */
const called: Record<Wire, number> = { chat: 0, responses: 0, anthropic: 0, gemini: 0 };
const wireOf = ({ path }: AskedCompletion): Wire =>
  path.endsWith('/chat/completions')
    ? 'chat'
    : path.endsWith('/responses')
      ? 'responses'
      : path.endsWith('/messages')
        ? 'anthropic'
        : 'gemini';

function answerTo(asked: AskedCompletion): ScriptedAnswer {
  const wire = wireOf(asked);
  const text = JSON.stringify(asked.body);
  const found = WIRES.filter((each) => text.includes(SEALS[each]));
  const times = text.split(SEALS[wire]).length - 1;
  if (found.some((each) => each !== wire) || times !== called[wire]) {
    return refusal(400, {
      error: { message: `the request has ${times} of ${called[wire]} seals of ${wire}, and those of: ${found.join()}` },
    });
  }
  const last = endOf[wire](asked.body);
  if (last) return ANSWERS[wire].done;
  called[wire] += 1;
  return ANSWERS[wire].call;
}

/** Whether the last message is the result of a tool. */
const endOf: Record<Wire, (body: AskedCompletion['body']) => boolean> = {
  chat: ({ messages }) => messages.at(-1).role === 'tool',
  responses: ({ input }) => input.at(-1).type === 'function_call_output',
  anthropic: ({ messages }) => messages.at(-1).content.at(-1).type === 'tool_result',
  gemini: ({ contents }) => contents.at(-1).parts.at(-1).functionResponse !== undefined,
};

const typed = (type: string, data: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const args = JSON.stringify({ message: 'Half of it' });
const usage = { input_tokens: 9, output_tokens: 3 };
const completed = (...output: object[]) =>
  streamed(typed('response.completed', { response: { model: 'm', status: 'completed', output, usage } }));
const message = (stop: string, ...blocks: Array<[object, ...object[]]>) =>
  streamed(
    typed('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    }),
    ...blocks.flatMap(([content_block, ...deltas], index) => [
      typed('content_block_start', { index, content_block }),
      ...deltas.map((delta) => typed('content_block_delta', { index, delta })),
      typed('content_block_stop', { index }),
    ]),
    typed('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 3 } }),
    typed('message_stop'),
  );
const candidate = (...parts: object[]) =>
  streamed(event({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }));

const ANSWERS: Record<Wire, { call: ScriptedAnswer; done: ScriptedAnswer }> = {
  chat: {
    call: streamed(
      chunk({ reasoning_content: 'Hm.' }),
      callChunk({
        ...{ index: 0, id: 'call_1', function: { name: 'report_progress', arguments: args } },
        extra_content: { google: { thought_signature: SEALS.chat } },
      }),
      callChunk({ index: 1, id: 'call_2', function: { name: 'report_progress', arguments: args } }),
      chunk({}, 'tool_calls'),
      DONE,
    ),
    done: streamed(chunk({ content: 'done over chat' }), chunk({}, 'stop'), DONE),
  },
  responses: {
    call: completed(
      { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: SEALS.responses },
      ...['1', '2'].map((id) => ({
        ...{ id: `fc_${id}`, type: 'function_call', call_id: `call_${id}`, name: 'report_progress', arguments: args },
      })),
    ),
    done: completed({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'done over responses', annotations: [] }],
    }),
  },
  anthropic: {
    call: message(
      'tool_use',
      [
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Hm.' },
        { type: 'signature_delta', signature: SEALS.anthropic },
      ],
      [
        { type: 'tool_use', id: 'toolu_1', name: 'report_progress', input: {} },
        { type: 'input_json_delta', partial_json: args },
      ],
      [
        { type: 'tool_use', id: 'toolu_2', name: 'report_progress', input: {} },
        { type: 'input_json_delta', partial_json: args },
      ],
    ),
    done: message('end_turn', [
      { type: 'text', text: '' },
      { type: 'text_delta', text: 'done over anthropic' },
    ]),
  },
  gemini: {
    call: candidate(
      { functionCall: { name: 'report_progress', args: JSON.parse(args) }, thoughtSignature: SEALS.gemini },
      { functionCall: { name: 'report_progress', args: JSON.parse(args) } },
    ),
    done: candidate({ text: 'done over gemini' }),
  },
};

it('A thread that changes its model in every direction gets through turns with a tool over every wire', async () => {
  const thread = await app.thread();
  // every wire follows every other one
  const order = [
    'chat',
    'responses',
    'anthropic',
    'gemini',
    'chat',
    'anthropic',
    'responses',
    'gemini',
    'responses',
    'chat',
    'gemini',
    'anthropic',
    'chat',
  ];
  for (const wire of order as Wire[]) {
    const { status, body } = await app.request('POST', `/v1/threads/${thread}/turns`, {
      prompt: 'Go on',
      model: `m-${wire}`,
    });
    expect(status).toBe(201);
    const { turn } = body as { turn: { id: string } };
    expect([wire, await app.ended(thread, turn.id)]).toMatchObject([wire, { status: 'completed' }]);
    const { items } = await app.detail(thread);
    expect(items.findLast(({ kind }) => kind === 'agent_message')?.detail).toBe(`done over ${wire}`);
  }
  // each turn was two requests, and none was refused
  expect(endpoint.requests()).toHaveLength(2 * order.length);
});
