/** A question of the model, as its tool takes it. */
export interface AskedLeave {
  question: string;
  options?: readonly string[];
}

/** The answer of the system to a question that only asks for leave, where the chat is autonomous. */
export const DECIDE_YOURSELF =
  'Not asked: this chat is autonomous, so decide yourself and go on. This is no consent: where a call needs the person’s yes, the system asks for it by itself.';

const LONGEST = 500;

/** How a sentence begins that asks for leave, with the languages that people write most. */
const LEAVE = [
  /^(?:shall|should|may|can|could|must) (?:i|we) (?!have\b|get\b|know\b|ask\b|see\b|borrow\b)/,
  /^do (?:i|we) (?:have your|go|continue|proceed|start)\b/,
  /^(?:do|would) you (?:want (?:me|us) to|like (?:me|us) to|prefer that (?:i|we)|mind if|allow|agree|approve|confirm)\b/,
  /^(?:is|would|are) (?:it|this|that|you) (?:be )?(?:ok|okay|fine|alright|all right|good|acceptable|happy|ready|sure|allowed)\b/,
  /^(?:can|could|will|would) you (?:please )?(?:confirm|approve|agree|allow|give)\b/,
  /^(?:please )?(?:confirm|approve)\b/,
  /^(?:ok|okay|ready|permission|happy|fine|good to go|alright|mind if|any objections?)\b/,
  /^(?:proceed|continue|go ahead|go on|start|begin)\b/,
  /^(?:soll|sollen|darf|dürfen|kann|können) (?:ich|wir)\b/,
  /^(?:ist (?:das|es) (?:ok|okay|in ordnung)|einverstanden|weitermachen|fortfahren)\b/,
  /^(?:dois|puis|peux|devons|pouvons)-(?:je|nous)\b/,
  /^(?:est-ce que je (?:peux|dois)|je (?:peux|continue)|on continue)\b/,
  /^(?:puedo|debo|procedo|continúo|sigo|quieres que|desea que|quiere que)\b/,
  /^(?:posso|devo|procedo|continuo|vuoi che|quer que)\b/,
];
/** A question with one of these words asks for something that the model cannot decide. */
const CHOICE =
  /\b(?:which|what|who|whom|whose|where|when|how|why|or|either|oder|welche[rsnm]?|was|wer|wo|wann|wie|warum|ou|quel(?:le)?s?|quand|comment|o|cuál(?:es)?|qué|quién|dónde|cuándo|cómo|quale|quali|quando|come|qual)\b/;
/** An alternative that is none: to do it, or not to. */
const OR_NOT =
  /[,;]? (?:or|oder|ou|o) (?:not|nicht|pas|non|no|nein|stop|wait|cancel|abort|(?:shall|should) i (?:stop|wait|not))\b/g;
/** What is left to a choice when all that is asked is leave. */
const ANSWER =
  /^(?:yes|no|y|n|ok|okay|sure|proceed|continue|go ahead|go on|go|do it|start|begin|confirm|approve|allow|agree|cancel|stop|abort|wait|deny|reject|decline|skip|don't|do not|not now|not yet|later|hold|ja|nein|weiter|abbrechen|oui|non|sí|si|sim|não)\b/;

/**
 * Whether a question asks for nothing but leave to go on ("Shall I proceed?"). A question with a choice, or about a fact
 * that only the person knows, does not.
 */
export function asksLeaveOnly({ question, options = [] }: AskedLeave): boolean {
  if (question.length > LONGEST) return false;
  if (!options.every((option) => ANSWER.test(plain(option)))) return false;
  const asked = sentences(plain(question)).filter(({ end }) => end === '?');
  const all = asked.length > 0 ? asked : sentences(plain(question)).slice(-1);
  return all.length > 0 && all.every(({ words }) => isLeave(words));
}

function isLeave(sentence: string): boolean {
  const words = sentence.replace(OR_NOT, '');
  // "The tests pass, so shall I go on": what is asked stands in the last part
  const parts = [words, ...words.split(/[,;:–—] /)].map((part) =>
    part.replace(/^(?:so|and|then|now|also|und|et|y|e) /, ''),
  );
  return !CHOICE.test(words) && parts.some((part) => LEAVE.some((begins) => begins.test(part)));
}

const plain = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replace(/’/g, "'")
    .replace(/[¿¡"“”«»*_`()[\]]/g, '')
    .replace(/\s+/g, ' ')
    .trim();

function sentences(text: string): Array<{ words: string; end: string }> {
  return [...text.matchAll(/([^.!?]+)([.!?]?)/g)].flatMap(([, words = '', end = '']) =>
    words.trim() === '' ? [] : [{ words: words.trim(), end }],
  );
}
