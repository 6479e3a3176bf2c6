/** What fits into the context of a model, which a request shares with its answer. All sizes are in tokens. */

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
];

/** No model with tools has a smaller context: such a number means something else. */
const SMALLEST = 1_024;

/** The size of the context that a refusal names; null when it names none. */
export function contextIn(refusal: string): number | null {
  for (const pattern of NAMED) {
    const size = Number(pattern.exec(refusal)?.[1]?.replaceAll(',', ''));
    if (size >= SMALLEST) return size;
  }
  return null;
}

export interface RequestBudget {
  /** the history is summed up to fit this */
  history: number;
  /** the declarations of tools */
  tools: number;
}

/** The system prompt with what is remembered. */
const SYSTEM = 600;
/** The core of the tools; families come to it. */
const CORE = 3_000;
const LONGEST_ANSWER = 4_096;
/** Sizes of texts are estimated by their characters. */
const CERTAIN = 0.85;

/** How a request is shared out. `most`: the history that the owner wants; `context`: of the model, where it is known. */
export function budgetWithin(context: number | undefined, most: number): RequestBudget {
  if (context === undefined) return { history: most, tools: Number.POSITIVE_INFINITY };
  const rest = Math.max(0, context - SYSTEM - Math.min(LONGEST_ANSWER, Math.floor(context / 5)));
  const tools = Math.floor(rest * 0.6);
  return { tools, history: Math.min(most, Math.floor((rest - Math.min(tools, CORE)) * CERTAIN)) };
}
