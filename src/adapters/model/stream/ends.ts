/** The meaning of a finish reason. `broken`: the answer must be asked for again. `overflow`: the context is full. */
export type Ending = 'complete' | 'cut' | 'refused' | 'broken' | 'overflow';

/** Words of an end, in small letters, without the marks around special tokens. A call may stand before each of them. */
const COMPLETE = new Set([
  'stop', // OpenAI and all who follow it; a call with it: Ollama, at times OpenAI
  'tool_calls',
  'tool_call',
  'tool_use', // Anthropic
  'tool',
  'function_call',
  'function_calls',
  'end_turn', // Anthropic, LiteLLM
  'end_of_turn', // Gemma
  'pause_turn', // Anthropic
  'stop_sequence', // Anthropic
  'stop_token',
  'stopped',
  'eos', // Together, text-generation-inference
  'eos_token',
  'eot',
  'eot_id',
  'im_end',
  'eot_token',
  'stop_str', // SGLang, text-generation servers
  'matched_stop',
  'stop_id',
  'stop_word',
  'stop_words',
  'stop_criteria',
  'stop_sequences',
  'natural_stop',
  'message_stop', // Anthropic's last event
  'eom', // Llama
  'eom_id',
  'end_of_message',
  'eos_found', // Text generation at IBM, AI21
  'eos_token_id',
  'stopped_eos', // llama.cpp
  's', // </s>
  'ok',
  'end_of_text',
  'endoftext',
  'end_of_sentence',
  'end',
  'complete', // Cohere
  'completed', // OpenAI's responses
  'finish',
  'finished',
  'done',
  'success',
  'normal',
]);

/** Tried in this order. A word that none knows is a cut: it is no end that anybody promised. */
const OTHERS: Array<[RegExp, Ending]> = [
  // Anthropic: model_context_window_exceeded; Cohere: ERROR_LIMIT; xAI: MAX_CONTEXT
  [/context|^error_limit$|(?:prompt|input)_(?:is_)?too_long|kv_cache/, 'overflow'],
  [
    /filter|refus|safety|sensitive|recitation|block|prohibited|spii|moderat|guardrail|policy|violat|unsafe|flagged|risk|inspection|toxic|harm|hate|violen|sexual|copyright|jailbreak|protected_material|denied|reject|declin|disallow|not_allowed|^language$/,
    'refused',
  ],
  // Gemini's malformed_function_call and missing_thought_signature are slips, so asking again helps; Ollama's load and
  // unload are answers of a model that was not in memory
  [
    /error|exception|crash|time_?d?_?out|network|connection|gateway|abort|cancel|disconnect|interrupt|overload|unavailable|fail|insufficient_system|malformed|unexpected_tool|missing_thought|rate_limit|preempt|evict|kill|lost|shut_?down|terminated|out_of_memory|internal|^(?:un)?load$|^server_/,
    'broken',
  ],
];

/** @param reason as the endpoint writes it, such as `stop`, `MAX_TOKENS`, `FinishReason.SAFETY` */
export function endingOf(reason: string): Ending {
  const word = wordOf(reason);
  if (COMPLETE.has(word)) return 'complete';
  return OTHERS.find(([pattern]) => pattern.test(word))?.[1] ?? 'cut';
}

const wordOf = (reason: string): string =>
  reason
    .trim()
    .replace(/([a-z])(?=[A-Z])/g, '$1_') // Bedrock: endTurn, toolUse
    .replace(/[\s-]+/g, '_')
    .toLowerCase()
    .replace(/^(?:finish_?)?reason[._]/, '')
    .replace(/[<|/>]/g, '');

/**
 * Whether a word that may be a reason, or the text at which a server stopped, says for certain that the answer is not
 * whole.
 */
export const saysUnfinished = (word: string): boolean =>
  word.length <= 40 &&
  endingOf(word) !== 'complete' &&
  (endingOf(word) !== 'cut' || /^(?:max_|length)|_length$|max_len|_tokens$|token_limit/.test(wordOf(word)));
