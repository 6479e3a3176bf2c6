/** The size of a request in the context of a model, which it shares with its answer. All sizes are in tokens. */

/** How endpoints name the size of a context when a request is larger. Each line was seen from the endpoint named. */
const NAMED: readonly RegExp[] = [
  /"n_ctx"\s*:\s*(\d+)/, // llama.cpp
  /available context size \((\d+) tokens?\)/i, // llama.cpp
  /maximum context length (?:is|of) (\d[\d,]*)/i, // OpenAI, vLLM, DeepSeek, OpenRouter
  /context (?:length|window|size) of (?:only )?(\d[\d,]*)/i, // LM Studio
  /maximum prompt length is (\d[\d,]*)/i, // xAI
  /maximum number of tokens allowed \(?(\d[\d,]*)/i, // Gemini
  /> (\d[\d,]*) maximum/i, // Anthropic
  /model with (\d[\d,]*) maximum context/i, // Mistral
  /must (?:have less than|be <=) (\d[\d,]*)/i, // text-generation-inference
  /exceed(?:s|ing)? (?:the )?(?:maximum|model limit) (\d[\d,]*)/i, // Z.AI
  /tokens per minute \(TPM\): Limit (\d[\d,]*), Requested/i, // Groq: more is never taken at once
  /range of input length should be \[\d+, ?(\d[\d,]*)\]/i, // Qwen (DashScope)
  /\d\)? ?> ?(\d[\d,]*)/,
];

/** How many tokens a refused request had, as endpoints tell it. */
const REFUSED: readonly RegExp[] = [
  /request \((\d+) tokens?\) exceeds/i, // llama.cpp
  // OpenAI, vLLM, DeepSeek, Mistral
  /(?:you requested|your messages resulted in|request has|prompt contains|at least) (?:about )?(\d[\d,]*) (?:input )?tokens/i,
  /input token count \(?(\d[\d,]*)/i, // Gemini
  /too long: (\d[\d,]*) tokens/i, // Anthropic
];

/** No model with tools has a smaller context: such a number means something else. */
export const SMALLEST_CONTEXT = 1_024;

/** The size of the context that a refusal names; null when it names none. */
export const contextIn = (refusal: string): number | null => numberIn(NAMED, refusal) ?? limitIn(refusal);

const LIMIT_WORDS =
  /\b(?:exceed|exceeds|exceeded|longer than|larger than|greater than|more than|max|maximum|limit|context length|at most)\b/gi;
const LONGEST_PHRASE = 60;

/** The first size behind words of a limit: "exceeds the limit of 64000", "longer than the maximum length (4096)". */
function limitIn(refusal: string): number | null {
  for (const { 0: word, index } of refusal.matchAll(LIMIT_WORDS)) {
    const from = index + word.length;
    const phrase = refusal.slice(from, from + LONGEST_PHRASE).split(/[.;]|, /)[0]!;
    const words = phrase.slice(0, Math.max(phrase.search(/\d/), 0));
    // an excess, and the code of an error: "exceeds limit (2013)"
    if (/\bby\b/.test(words) || /limit \($/.test(word + words)) continue;
    const size = Number(/\d[\d,]*/.exec(phrase)?.[0].replaceAll(',', ''));
    if (size >= SMALLEST_CONTEXT) return size;
  }
  return null;
}

function numberIn(patterns: readonly RegExp[], text: string): number | null {
  for (const pattern of patterns) {
    const size = Number(pattern.exec(text)?.[1]?.replaceAll(',', ''));
    if (size >= SMALLEST_CONTEXT) return size;
  }
  return null;
}

export interface RequestBudget {
  /** the history is summed up to fit this */
  history: number;
  /** the declarations of tools */
  tools: number;
  /** all that the context has for the history; infinite where the context is not known */
  room: number;
}

/** The system prompt with what is remembered. */
const SYSTEM = 600;
/** The core of the tools; families come to it. */
const CORE = 3_000;
const LONGEST_ANSWER = 4_096;
/** Sizes of texts are estimated by their characters. */
const CERTAIN = 0.85;

/**
 * How a request is shared out. `most`: the history that the owner wants; `context`: of the model, where it is known.
 */
export function budgetWithin(context: number | undefined, most: number): RequestBudget {
  if (context === undefined) return { history: most, tools: Number.POSITIVE_INFINITY, room: Number.POSITIVE_INFINITY };
  const rest = restOf(context);
  const tools = Math.floor(rest * 0.6);
  const room = Math.floor((rest - Math.min(tools, CORE)) * CERTAIN);
  return { tools, room, history: Math.min(most, room) };
}

/** The text that one request can sum up. What was summed up before takes the other half. */
export const summedWithin = (context: number | undefined, most: number): number =>
  context === undefined ? most : Math.min(most, Math.floor((restOf(context) * CERTAIN) / 2));

const restOf = (context: number): number =>
  Math.max(0, context - SYSTEM - Math.min(LONGEST_ANSWER, Math.floor(context / 5)));

/** Tokens of a request, estimated by the characters of its texts and of the JSON of its tools. */
export const requestTokens = (chars: number): number => Math.ceil(chars / (4 * CERTAIN));

/** How the sentence begins that a person reads when no request fits. */
export const TOO_SMALL = 'The context of this model is too small';

/** The servers that a refusal can be of, and how their context is raised. The first that fits is meant. */
const RAISED: ReadonlyArray<{ says: RegExp; how: string }> = [
  { says: /read only a part of the request/, how: 'Raise `OLLAMA_CONTEXT_LENGTH` of Ollama' },
  { says: /available context size|n_ctx/i, how: 'Start llama.cpp with a larger `-c`' },
  { says: /greater than the context length/i, how: 'Load the model with a larger Context Length in LM Studio' },
  { says: /maximum context length/i, how: 'Start vLLM with a larger `--max-model-len`' },
  { says: /./, how: 'Raise the context of its server (`OLLAMA_CONTEXT_LENGTH` of Ollama, `-c` of llama.cpp)' },
];

/**
 * The message when the smallest request was refused. `context` and `needed` in tokens, where they are known;
 * `local`: the server is the person's own.
 */
export function tooSmallText(
  refusal: string,
  { context, needed, local }: { context: number | undefined; needed: number | undefined; local: boolean },
): string {
  const counted = numberIn(REFUSED, refusal) ?? needed ?? 0;
  const figure = (tokens: number) => `${tokens.toLocaleString('en-US')} tokens`;
  const has =
    context === undefined
      ? ''
      : `: it has ${figure(context)}, and this request needs ${counted > context ? `about ${figure(counted)}` : 'more'}`;
  const needs = context === undefined && counted > 0 ? `: this request needs about ${figure(counted)}` : '';
  const how = local
    ? `${RAISED.find(({ says }) => says.test(refusal))!.how}, or choose another model on my page, under Settings, Model.`
    : CHOOSE;
  return `${TOO_SMALL}${has}${needs}. ${how}`;
}

const CHOOSE = 'Choose a model with a larger context on my page, under Settings, Model.';
