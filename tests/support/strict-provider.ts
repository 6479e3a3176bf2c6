import { createHash } from 'node:crypto';
import type { WireCall } from '../../src/adapters/model/practice/answer.ts';
import type { Provider } from '../../src/adapters/model/practice/completions.ts';
import type { WireMessage } from '../../src/adapters/model/practice/situation.ts';

/** A word of every signature: whoever shows it has shown what only its provider may read. */
export const CANARY = 'c2lnbmF0dXJl';

/** What Gemini takes on the first call of a step that another model made. */
const SKIPS = 'skip_thought_signature_validator';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);
/** A signature fits one place in one step. The second of parallel calls has none. */
const signatureOf = (thoughts: string, at: number): string | undefined =>
  at === 1 ? undefined : `${CANARY}.${digest(`${thoughts} ${at}`)}==`;
/** Thoughts that tell by which model they are. */
const thoughtsOf = (model: string, nonce: number): string => `${model} thinks (${nonce})`;
const makerOf = (thoughts: string): string => thoughts.split(' thinks (')[0]!;

/**
 * A provider as DeepSeek's and Gemini's chat completions are at once: each step with calls has thoughts and signatures,
 * and a later request of the same model is refused unless they stand where they stood. What it made is known by its
 * calls, so a step without its state is taken only where another model made it. A step of another model must not show
 * that model's state. The refusals are those of the providers.
 */
export function strictProvider(): Provider {
  /** models that have made a step with such calls */
  const makers = new Map<string, Set<string>>();
  let nonce = 0;
  return {
    signed: (model, { step, calls }) => {
      if (calls.length === 0) return { step, calls };
      nonce += 1;
      const key = keyOf(calls);
      makers.set(key, (makers.get(key) ?? new Set()).add(model));
      const thoughts = thoughtsOf(model, nonce);
      const signed = calls.map((call, at) => {
        const signature = signatureOf(thoughts, at);
        return signature ? { ...call, extra_content: { google: { thought_signature: signature } } } : call;
      });
      return { step: { ...step, think: thoughts }, calls: signed };
    },
    refusal: ({ model = '', messages }) => {
      for (const [at, message] of messages.entries()) {
        const calls = (message.tool_calls ?? []) as WireCall[];
        if (calls.length === 0) continue;
        const by = makers.get(keyOf(calls));
        const refused = whatIsWrong(model, message, calls, by ? !by.has(model) : false);
        if (refused) return `${refused} (message ${at} of ${messages.length})`;
      }
      return null;
    },
  };
}

function whatIsWrong(
  model: string,
  { reasoning_content: thoughts }: WireMessage,
  calls: readonly WireCall[],
  foreign: boolean,
): string | null {
  const signatures = calls.map(
    ({ extra_content }) =>
      (extra_content as { google?: { thought_signature?: string } } | undefined)?.google?.thought_signature,
  );
  if (typeof thoughts !== 'string' || thoughts === '') {
    if (!foreign) return 'The reasoning_content in the thinking mode must be passed back to the API.';
    return signatures.every((each) => each === undefined || each === SKIPS)
      ? null
      : 'A thought_signature of another model was sent.';
  }
  if (makerOf(thoughts) !== model) return `The reasoning_content of ${makerOf(thoughts)} was sent to ${model}.`;
  const wrong = signatures.findIndex((each, at) => each !== signatureOf(thoughts, at));
  return wrong < 0 ? null : `Function call is missing a thought_signature, or has a wrong one: call ${wrong}.`;
}

/**
 * The names, and the texts in the arguments of the first call, which must be JSON. A client may add defaults and change
 * their order.
 */
function keyOf(calls: readonly WireCall[]): string {
  const args = Object.values(JSON.parse(calls[0]!.function.arguments) as object).filter(
    (value) => typeof value === 'string',
  );
  return JSON.stringify([calls.map(({ function: { name } }) => name), args.sort()]);
}
