import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { ModelAnswer, ModelError, ModelRequest, ModelTool } from '../../../src/adapters/model/model.ts';
import { type ScriptedAnswer, startEndpoint } from './endpoint.ts';

const text = { type: 'string' };
const tool = (name: string, properties: object, required: string[] = []): ModelTool => ({
  name,
  description: name,
  parameters: { type: 'object', properties, required },
});

/** The tools that are offered in these tests. */
export const TOOLS: ModelTool[] = [
  tool('file_read', { path: text, lines: { type: 'integer' }, whole: { type: 'boolean' } }, ['path']),
  tool('file_write', { path: text, content: text }),
  tool('file_list', {}),
];

export interface Heard {
  answer: ModelAnswer;
  /** what streamed in as text, and as thoughts */
  said: string;
  thought: string;
}

/** The answer to one request over HTTP; rejects with `ModelError`. */
export async function hear(bytes: ScriptedAnswer, more: Partial<ModelRequest> = {}): Promise<Heard> {
  const endpoint = await startEndpoint({ answers: [bytes] });
  const told = { agent_message: '', agent_reasoning: '' };
  try {
    const answer = await openaiModel({ kind: 'custom', baseUrl: endpoint.baseUrl, name: 'm' }).complete({
      model: 'm',
      messages: [{ role: 'user', content: 'read a.txt' }],
      tools: TOOLS,
      signal: new AbortController().signal,
      onDelta: (kind, delta) => {
        told[kind] += delta;
      },
      requestId: 'turn_1/1',
      ...more,
    });
    return { answer, said: told.agent_message, thought: told.agent_reasoning };
  } finally {
    await endpoint.close();
  }
}

/** The error of one request. */
export const refused = async (bytes: ScriptedAnswer, more: Partial<ModelRequest> = {}): Promise<ModelError> =>
  await hear(bytes, more).then(
    ({ answer }) => {
      throw new Error(`an answer came: ${JSON.stringify(answer)}`);
    },
    (error) => error,
  );

/** Names and parsed arguments; arguments that do not parse stay text. */
export const callsOf = ({ answer }: Heard): Array<[string, unknown]> =>
  answer.calls.map(({ name, arguments: args }) => {
    try {
      return [name, JSON.parse(args)];
    } catch {
      return [name, args];
    }
  });
