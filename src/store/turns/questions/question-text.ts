import { argumentsEvidence, pageEnd } from '../../../domain/text/evidence.ts';
import type { Tx } from '../../postgres/database.ts';
import type { Question } from './questions.ts';

export const numbered = (options: readonly string[]): string =>
  options.map((option, index) => `${index + 1}. ${option}`).join('\n');

/** How an approval is answered, on every channel. `more` is known to work, too: it shows the details. */
export const APPROVAL_ANSWERS = 'Answer yes, no, or "always" to stop asking.';

/** An approval as a message: the question, the first page of what it is decided by, and the possible answers. */
export const approvalText = (it: Pick<Question, 'prompt' | 'evidence' | 'shown' | 'number'>): string =>
  [
    numberedPrompt(it),
    ...(it.evidence ? [fenced(it.evidence.slice(0, it.shown))] : []),
    howToAnswer({ kind: 'approval', options: [], ...it }),
  ].join('\n\n');

/**
 * A plan as a message: whose it is, the question, its first page, the files that it would touch, and the possible
 * answers. Its lines are quoted already.
 */
export const planText = (
  it: Pick<Question, 'prompt' | 'evidence' | 'shown' | 'number'>,
  { intro, files }: { intro: string; files: string },
): string =>
  [
    intro,
    numberedPrompt(it),
    it.evidence?.slice(0, it.shown) ?? '',
    files,
    howToAnswer({ kind: 'plan', options: [], ...it }),
  ].join('\n\n');

/** The number is shown when there may be several questions. */
const numberedPrompt = ({ number, prompt }: Pick<Question, 'number' | 'prompt'>): string =>
  number > 1 ? `${number}. ${prompt}` : prompt;

export function howToAnswer({
  kind,
  options,
  evidence,
  shown,
  budget = null,
}: Pick<Question, 'kind' | 'options' | 'evidence' | 'shown'> & Partial<Pick<Question, 'budget'>>): string {
  if (budget) return 'Answer yes or no.';
  if (kind === 'question')
    return options.length > 0 ? 'Answer with a number or in your own words.' : 'Answer in your own words.';
  const rest = evidence === null ? 0 : evidence.length - shown;
  const answers =
    kind === 'plan'
      ? 'Say "yes" and it begins, say in your own words what to change, or "no" to end the task.'
      : APPROVAL_ANSWERS;
  return rest === 0 ? answers : `This is the beginning. Say "more" to read on. ${answers}`;
}

/** The next page of what an approval is decided by, as a message. */
export async function readOn(tx: Tx, question: Question, at: Date): Promise<string> {
  const { evidence, shown } = question;
  if (evidence === null || shown >= evidence.length)
    return ['That was all of it.', await detailsOf(tx, question), howToAnswer(question)].filter(Boolean).join('\n\n');
  const end = pageEnd(evidence, shown);
  // what is shown now must be read before a yes counts
  await tx.updateTable('questions').set({ shown: end, delivered_at: at }).where('id', '=', question.id).execute();
  const page = evidence.slice(shown, end);
  return `${question.kind === 'plan' ? page.trimEnd() : fenced(page)}\n\n${howToAnswer({ ...question, shown: end })}`;
}

/** What nobody needs for an answer, and some want to know: the tool and its arguments, or the task and its machine. */
async function detailsOf(tx: Tx, { call_id, task_id }: Question): Promise<string> {
  const call = call_id
    ? await tx.selectFrom('calls').select(['name', 'args']).where('id', '=', call_id).executeTakeFirst()
    : undefined;
  if (call) return fenced(argumentsEvidence({ tool: call.name, ...call.args }));
  const task = task_id
    ? await tx.selectFrom('tasks').select(['workspace', 'host', 'id']).where('id', '=', task_id).executeTakeFirst()
    : undefined;
  return task ? fenced(argumentsEvidence(task)) : '';
}

/** Evidence cannot contain a fence. */
const fenced = (text: string): string => `\`\`\`\n${text.replace(/\n$/, '')}\n\`\`\``;
