import { argumentsEvidence, pageEnd } from '../../../domain/text/evidence.ts';
import { english, type Say } from '../../../domain/texts/say.ts';
import type { Tx } from '../../postgres/database.ts';
import type { Question } from './questions.ts';

export const numbered = (options: readonly string[]): string =>
  options.map((option, index) => `${index + 1}. ${option}`).join('\n');

/** An approval as a message: the question, the first page of what it is decided by, and the possible answers. */
export const approvalText = (
  it: Pick<Question, 'prompt' | 'evidence' | 'shown' | 'number'>,
  say: Say = english,
): string =>
  [
    numberedPrompt(it),
    ...(it.evidence ? [fenced(it.evidence.slice(0, it.shown))] : []),
    howToAnswer({ kind: 'approval', options: [], ...it }, say),
  ].join('\n\n');

/**
 * A plan as a message: whose it is, the question, its first page, the files that it would touch, and the possible
 * answers. Its lines are quoted already.
 */
export const planText = (
  it: Pick<Question, 'prompt' | 'evidence' | 'shown' | 'number'>,
  { intro, files }: { intro: string; files: string },
  say: Say,
): string =>
  [
    intro,
    numberedPrompt(it),
    it.evidence?.slice(0, it.shown) ?? '',
    files,
    howToAnswer({ kind: 'plan', options: [], ...it }, say),
  ].join('\n\n');

/** The number is shown when there may be several questions. */
const numberedPrompt = ({ number, prompt }: Pick<Question, 'number' | 'prompt'>): string =>
  number > 1 ? `${number}. ${prompt}` : prompt;

/** `more` is known to work at the end, too: it shows the details. */
export function howToAnswer(
  {
    kind,
    options,
    evidence,
    shown,
    budget = null,
  }: Pick<Question, 'kind' | 'options' | 'evidence' | 'shown'> & Partial<Pick<Question, 'budget'>>,
  say: Say = english,
): string {
  if (budget) return say('answer.yesOrNo');
  if (kind === 'question') return say(options.length > 0 ? 'answer.choice' : 'answer.words');
  const rest = evidence === null ? 0 : evidence.length - shown;
  const answers = say(kind === 'plan' ? 'answer.plan' : 'answer.approval');
  return rest === 0 ? answers : `${say('answer.more')} ${answers}`;
}

/** The next page of what an approval is decided by, as a message. */
export async function readOn(tx: Tx, question: Question, at: Date, say: Say): Promise<string> {
  const { evidence, shown } = question;
  if (evidence === null || shown >= evidence.length)
    return [say('answer.all'), await detailsOf(tx, question), howToAnswer(question, say)].filter(Boolean).join('\n\n');
  const end = pageEnd(evidence, shown);
  // what is shown now must be read before a yes counts
  await tx.updateTable('questions').set({ shown: end, delivered_at: at }).where('id', '=', question.id).execute();
  const page = evidence.slice(shown, end);
  return `${question.kind === 'plan' ? page.trimEnd() : fenced(page)}\n\n${howToAnswer({ ...question, shown: end }, say)}`;
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
