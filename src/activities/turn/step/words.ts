import type { ModelAnswer, ModelMessage } from '../../../adapters/model/model.ts';
import { situationOf } from '../../../adapters/model/practice/situation.ts';
import type { NamedCall } from '../../../contracts/conversation.ts';
import { toldToPerson } from '../../../domain/chat/words/step-words.ts';
import { toolsInWords } from '../../../domain/chat/words/tool-words.ts';
import { cut } from '../../../domain/text/storable.ts';
import { resultAgain } from '../../../domain/texts/again.ts';
import type { Say } from '../../../domain/texts/say.ts';

/** Where a step of a turn stands. `call`: what the whole turn consists of, where a program named it. */
interface StepWithoutModel {
  key: string;
  step: number;
  call: NamedCall | null;
  modelName: string;
  /** what the person is told, in their language */
  say: Say;
}

/** The result of a named call is in its item, whole. */
const REPEATED_CHARS = 500;

/**
 * The step of a turn whose call is known: a program has named it, or the words of the message say it (`clone URL`,
 * `undo`). No model is asked, so that they work without one. The call goes the way of every call: consent, the host's
 * queue, retries. The next step says what came of it. Null for every other message.
 */
export function answerWithoutModel(
  messages: readonly ModelMessage[],
  { key, step: number, call, modelName, say }: StepWithoutModel,
): ModelAnswer | null {
  const { user, step, last } = situationOf(
    messages.map((message) => ('calls' in message ? { ...message, tool_calls: message.calls } : message)),
  );
  // a step other than the first without a result: somebody has said something else meanwhile
  if (call && step === 0 && number > 1) return null;
  const tools = call ? [{ name: call.name, arguments: call.args }] : toolsInWords(user);
  if (tools.length === 0 || step > 1) return null;
  const calls =
    step === 0
      ? tools.map((tool, at) => ({
          id: `call_${key.replace(/\W/g, '_')}${at === 0 ? '' : `_${at}`}`,
          name: tool.name,
          arguments: JSON.stringify(tool.arguments),
        }))
      : [];
  const said = call
    ? cut(last, REPEATED_CHARS)
    : resultAgain(
        toldToPerson(last, (how, workspace) => say(`begun.${how}`, { workspace })),
        say,
      );
  return {
    text: step === 0 ? '' : said,
    reasoning: '',
    calls,
    usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 },
    usageEstimated: false,
    finishReason: step === 0 ? 'tool_calls' : 'stop',
    model: modelName,
  };
}
