import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import type { ModelMessage, ModelTool } from '../../src/adapters/model/model.ts';

/**
 * Tokens of a request as the chat template of Qwen 2.5 writes it out for the model (in `tokenizer_config.json` of
 * Qwen/Qwen2.5-7B-Instruct): tools are JSON with a space after each colon and comma, one on a line. Qwen's own
 * vocabulary is cl100k with other names for digits, so the count is the same within a few tokens.
 */
export function requestTokens(
  messages: readonly Pick<ModelMessage, 'role' | 'content'>[],
  tools: readonly ModelTool[],
): number {
  const [first, ...rest] = messages;
  const system = first?.role === 'system' ? first.content : '';
  const offered = tools.map((tool) => `\n${spaced({ type: 'function', function: tool })}`).join('');
  const text = [
    `<|im_start|>system\n${system}${offered === '' ? '' : `${BEFORE_TOOLS}${offered}${AFTER_TOOLS}`}<|im_end|>\n`,
    ...rest.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`),
    '<|im_start|>assistant\n',
  ].join('');
  return countTokens(text, { allowedSpecial: 'all' });
}

const BEFORE_TOOLS =
  '\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>';
const AFTER_TOOLS =
  '\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>';

/** JSON as Python and Jinja write it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${entries.map(([name, each]) => `${JSON.stringify(name)}: ${spaced(each)}`).join(', ')}}`;
}
