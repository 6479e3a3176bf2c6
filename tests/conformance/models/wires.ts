import { expect, onTestFinished } from 'vitest';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { ModelAnswer, ModelMessage, ModelRequest } from '../../../src/adapters/model/model.ts';
import type { WireName } from '../../../src/contracts/model.ts';
import { type ScriptedAnswer, startEndpoint } from './endpoint.ts';

/** Asks a scripted endpoint over one of the wires. */

export const TOOL = {
  name: 'file_read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

export const HELLO: ModelMessage[] = [
  { role: 'system', content: 'You are Fetch.' },
  { role: 'user', content: 'Hello' },
];

export const KEY = 'sk-test-secret';

/** An endpoint that is asked for a model over this wire. `suffix`: of its base URL. */
export async function askedOver(wire: WireName, answers: readonly ScriptedAnswer[], name = 'm', suffix = '') {
  const endpoint = await startEndpoint({ answers });
  onTestFinished(() => endpoint.close());
  const facts = { read: async () => new Map([[name, { wire }]]), add: async () => {} };
  const model = openaiModel({ kind: 'custom', baseUrl: endpoint.baseUrl + suffix, apiKey: KEY, name, facts });
  const deltas: string[] = [];
  const ask = (messages: ModelMessage[], more: Partial<ModelRequest> = {}): Promise<ModelAnswer> =>
    model.complete({
      model: name,
      messages,
      tools: [TOOL],
      signal: new AbortController().signal,
      onDelta: (kind, text) => deltas.push(`${kind}:${text}`),
      requestId: 'turn_1/1',
      ...more,
    });
  return { endpoint, ask, deltas };
}

/** The history after an answer as it is stored, in JSON: its step, with our own ids of calls, and their results. */
export const stepped = ({ text, calls, state }: ModelAnswer): ModelMessage[] =>
  JSON.parse(
    JSON.stringify([
      { role: 'assistant', content: text, calls: calls.map((each, at) => ({ ...each, id: `ours_${at + 1}` })), state },
      ...calls.map((_, at) => ({ role: 'tool', callId: `ours_${at + 1}`, content: `result ${at + 1}` })),
    ]),
  );

/**
 * The vendor at this base URL is asked over this wire, and the same path on another host is asked for chat completions.
 */
export async function expectWire(wire: WireName, baseUrl: string): Promise<void> {
  const wireAt = async (url: string) =>
    (await openaiModel({ kind: 'custom', baseUrl: url, name: 'm' }).facts('m')).wire;
  expect(await wireAt(baseUrl)).toBe(wire);
  expect(await wireAt(`https://proxy.example${new URL(baseUrl).pathname}`)).toBeUndefined();
}
