import type { ModelAnswer, ModelMessage } from '../../adapters/model/model.ts';
import { situationOf } from '../../adapters/model/practice/situation.ts';
import { toolInWords } from '../../domain/chat/tool-words.ts';

/**
 * The step of a message whose words say which tool is meant: `clone URL`, `undo`. No model is asked, so that they work without one. The call goes the way
 * of every call: consent, the host's queue, retries. The next step says what came of it. Null for every other message.
 */
export function answerOfWords(messages: readonly ModelMessage[], { key, modelName }: { key: string; modelName: string }): ModelAnswer | null {
  const { user, step, last } = situationOf(messages.map((message) => ('calls' in message ? { ...message, tool_calls: message.calls } : message)));
  const tool = toolInWords(user);
  if (!tool || step > 1) return null;
  const calls = step === 0 ? [{ id: `call_${key.replace(/\W/g, '_')}`, name: tool.name, arguments: JSON.stringify(tool.arguments) }] : [];
  return {
    text: step === 0 ? '' : last,
    reasoning: '',
    calls,
    usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 },
    usageEstimated: false,
    finishReason: step === 0 ? 'tool_calls' : 'stop',
    model: modelName,
  };
}
