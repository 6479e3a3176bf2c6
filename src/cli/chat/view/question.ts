import type { Colors } from 'picocolors/types.js';
import type { PendingApproval, PendingUserInput } from '../../../client/api-client.ts';
import { plain } from '../screen/text.ts';

export function questionText(input: PendingUserInput, { bold, dim, yellow }: Colors): string {
  return input.request.questions
    .flatMap(({ question, options = [] }) => [
      yellow('? ') + bold(plain(question)),
      ...options.map(
        (option, index) =>
          `  ${index + 1}. ${plain(option.label)}${option.description ? dim(`  ${plain(option.description)}`) : ''}`,
      ),
      dim(options.length > 0 ? '  answer with a number or in your own words' : '  answer in your own words'),
    ])
    .join('\n');
}

export function approvalText(approval: PendingApproval, { bold, dim, yellow }: Colors): string {
  const { tool_name: tool, description, intent_summary: intent, evidence, evidence_rest: rest } = approval;
  const answers = tool === 'budget' ? 'yes or no' : 'yes, no, or "always" to stop asking';
  return [
    `${yellow('? ')}${bold(plain(description))}`,
    // the model's words come first, so that none of them is among the offered answers
    ...(intent ? indented(`It says: ${intent}`, '  │ ').map(dim) : []),
    ...(evidence ? indented(evidence.replace(/\n$/, ''), '  ') : []),
    dim(rest ? `  this is the beginning: more to read on, then ${answers}` : `  ${answers}`),
  ].join('\n');
}

const indented = (text: string, margin: string): string[] =>
  plain(text)
    .split('\n')
    .map((line) => margin + line);

/** Ids of other questions are ids of calls, which no model chooses. */
export const isOfTask = ({ id }: { id: string }): boolean => id.startsWith('tsk_');

/**
 * Whether a shown message already contains a question, as those of coding tasks do. Margins and line breaks do not
 * count.
 */
export function says(message: string, asked: PendingUserInput | PendingApproval): boolean {
  const texts = 'description' in asked ? [asked.description] : asked.request.questions.map(({ question }) => question);
  const bare = squeezed(message);
  return texts.every((text) => bare.includes(squeezed(text)));
}
const squeezed = (text: string): string => plain(text).replace(/[│\s]+/g, '');
