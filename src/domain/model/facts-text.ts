import type { ModelFacts, WireName } from '../../contracts/model.ts';

const WIRES: Record<WireName, string | undefined> = {
  chat: undefined,
  responses: 'asked over the Responses API',
  anthropic: "asked in Anthropic's own protocol",
  gemini: "asked in Gemini's own protocol",
};

/** What was learned of a model, in plain words for a person; empty when nothing was that matters to one. */
export function factsText(facts: ModelFacts): string {
  const words = [
    facts.wire && WIRES[facts.wire],
    facts.effort && facts.wire !== 'responses' && 'no thoughts beside tools',
    facts.efforts && `effort ${facts.efforts.join(', ')}`,
    facts.omit?.includes('reasoning_effort') && 'no choice of effort',
    facts.noTools && 'no tools',
    facts.noPictures && 'no pictures',
    facts.noSystem && 'no system message',
    facts.alternates && 'messages must alternate',
    facts.singleCalls && 'one call at a time',
    facts.reasoningBack && 'wants its thoughts back',
    facts.omit?.includes('stream_options') && 'no count of tokens',
    facts.contextTokens && `${facts.contextTokens.toLocaleString('en-US')} tokens of context`,
    facts.maxTools && `at most ${facts.maxTools} tools`,
  ].filter((word) => typeof word === 'string');
  return words.length > 0 ? `learned of this model: ${words.join('; ')}` : '';
}
