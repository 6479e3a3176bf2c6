import type { ServerResponse } from 'node:http';
import type { ScriptStep } from './script.ts';

/** One answer, before it is written as a whole or as a stream. */
export interface PracticeAnswer {
  envelope: { id: string; created: number; model: string };
  step: ScriptStep;
  calls: WireCall[];
  usage: object;
}

export interface WireCall {
  id: string;
  type: 'function';
  extra_content?: object;
  function: { name: string; arguments: string };
}

/** `at`: the number of the step, from which the ids of its calls are made. */
export const callsOf = (step: ScriptStep, at: number): WireCall[] =>
  (step.call ?? []).map(([name, args], index) => ({
    id: `call_${at}_${index}`,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
  }));

/** Four characters a token: precise enough to practise with, and always the same. */
export function usageOf(inputChars: number, step: ScriptStep): object {
  const reasoning = Math.ceil((step.think ?? '').length / 4);
  const prompt = Math.ceil(inputChars / 4);
  const completion = Math.ceil(((step.say ?? '').length + JSON.stringify(step.call ?? '').length) / 4) + reasoning;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

const finishReason = ({ calls }: PracticeAnswer): string => (calls.length > 0 ? 'tool_calls' : 'stop');

/** The answer as one document, for a caller that does not stream. */
export function completionOf(answer: PracticeAnswer): object {
  const { envelope, step, calls, usage } = answer;
  const message = {
    role: 'assistant',
    content: step.say ?? null,
    ...(step.think ? { reasoning_content: step.think } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return {
    ...envelope,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finishReason(answer) }],
    usage,
  };
}

/** Writes the answer as a stream, word by word; stops when the caller has left. */
export async function streamAnswer(
  response: ServerResponse,
  answer: PracticeAnswer,
  { pace, usage, gone }: { pace: number; usage: boolean; gone: AbortSignal },
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const send = (choices: unknown[], more: object = {}) =>
    response.write(
      `data: ${JSON.stringify({ ...answer.envelope, object: 'chat.completion.chunk', choices, ...more })}\n\n`,
    );
  const delta = (part: object) => send([{ index: 0, delta: part, finish_reason: null }]);
  delta({ role: 'assistant', content: '' });
  const parts = partsOf(answer, pace);
  const end = answer.step.cut ? Math.ceil(parts.length / 2) : parts.length;
  for (const part of parts.slice(0, end)) {
    if (pace > 0 && !(await pause(pace, gone))) return;
    delta(part);
  }
  if (answer.step.cut) {
    // after the written data has left, or the caller would see a connection without any answer
    response.write(': cut\n\n', () => response.destroy());
    return;
  }
  send([{ index: 0, delta: {}, finish_reason: finishReason(answer) }]);
  if (usage) send([], { usage: answer.usage });
  response.end('data: [DONE]\n\n');
}

const partsOf = ({ step, calls }: PracticeAnswer, pace: number): object[] => [
  ...words(step.think ?? '', pace).map((part) => ({ reasoning_content: part })),
  ...words(step.say ?? '', pace).map((part) => ({ content: part })),
  ...calls.flatMap(callDeltas),
];

/** Words with the space behind them. Without a pace several make one part, because a chunk costs more than a word. */
function words(text: string, pace: number): string[] {
  const single = text.match(/\S{1,40}\s*|\s+/g) ?? [];
  if (pace > 0) return single;
  return Array.from({ length: Math.ceil(single.length / 16) }, (_, at) => single.slice(at * 16, at * 16 + 16).join(''));
}

/** A call comes in two chunks, as from real endpoints: the head, then the arguments. */
const callDeltas = ({ function: { name, arguments: args }, ...head }: WireCall, index: number): object[] => [
  { tool_calls: [{ index, ...head, function: { name, arguments: '' } }] },
  { tool_calls: [{ index, function: { arguments: args } }] },
];

/** False when the caller left meanwhile. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const done = (value: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(value);
    };
    const onAbort = () => done(false);
    const timer = setTimeout(() => done(true), ms);
    signal.addEventListener('abort', onAbort);
  });
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function sendError(response: ServerResponse, status: number, message: string, retryAfter?: number): void {
  sendJson(
    response,
    status,
    { error: { message, type: 'practice', code: null } },
    retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
  );
}
