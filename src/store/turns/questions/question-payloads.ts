import type { Selectable } from 'kysely';
import { baselineOfQuestion } from '../../../contracts/ids.ts';
import { argumentsEvidence } from '../../../domain/text/evidence.ts';
import { derivedId } from '../../chats/ids.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import type { QuestionTable } from '../../schema/tables/turns.ts';
import { saidInStep } from '../steps/transcript.ts';

type Question = Selectable<QuestionTable>;

/** Payload of `user_input.required`, and of an open question in a thread's detail. */
export const inputRequest = ({
  id,
  kind,
  prompt,
  options,
  evidence,
}: Pick<Question, 'id' | 'prompt' | 'options'> & Partial<Pick<Question, 'kind' | 'evidence'>>) => ({
  id,
  request: {
    questions: [
      kind === 'plan'
        ? { header: 'Plan', id, question: [prompt, evidence].filter(Boolean).join('\n\n'), options: PLAN_ANSWERS }
        : { header: 'Question', id, question: prompt, options: options.map((label) => ({ label, description: '' })) },
    ],
  },
});

const PLAN_ANSWERS = [
  { label: 'yes', description: 'the work begins' },
  { label: 'no', description: 'the task ends, and nothing is changed; any other words change the plan' },
];

/** Screens get the same page as phones. */
export const shownEvidence = ({
  evidence,
  shown,
}: Pick<Question, 'evidence' | 'shown'>): { evidence?: string; evidence_rest?: number } =>
  evidence === null
    ? {}
    : {
        evidence: evidence.slice(0, shown),
        ...(shown < evidence.length && { evidence_rest: evidence.length - shown }),
      };

/** An open approval in a thread's detail, with the fields of its `approval.required`. */
export async function approvalRequest(
  db: Db | Tx,
  question: Pick<
    Question,
    'id' | 'call_id' | 'task_id' | 'shipment_id' | 'turn_id' | 'prompt' | 'evidence' | 'shown' | 'budget'
  >,
): Promise<Record<string, unknown>> {
  const about =
    question.call_id === null ? await askedByWork(db, question) : await askedForCall(db, question, question.call_id);
  // a question from before evidence was stored has the arguments
  const asked =
    question.evidence === null
      ? { evidence: argumentsEvidence(about.input) || null, shown: Number.MAX_SAFE_INTEGER }
      : question;
  return { id: question.id, approval_id: question.id, turn_id: question.turn_id, ...about, ...shownEvidence(asked) };
}

async function askedForCall(db: Db | Tx, { prompt }: Pick<Question, 'prompt'>, callId: string) {
  const call = await db
    .selectFrom('calls')
    .select(['name', 'args', 'turn_id', 'step'])
    .where('id', '=', callId)
    .executeTakeFirstOrThrow();
  return {
    tool_name: call.name,
    description: prompt,
    intent_summary: await saidInStep(db, call.turn_id, call.step),
    input: call.args,
  };
}

/** A coding task asks without a call, in a turn that says which task asks for what. So do a pull request and a budget. */
async function askedByWork(
  db: Db | Tx,
  { id, task_id, shipment_id, prompt, budget }: Pick<Question, 'id' | 'task_id' | 'shipment_id' | 'prompt' | 'budget'>,
) {
  const said = await db
    .selectFrom('items')
    .select('detail')
    .where('id', '=', derivedId('item_', id))
    .executeTakeFirst();
  const about = { description: said?.detail ?? prompt, intent_summary: null };
  if (shipment_id !== null) return { tool_name: 'ship', ...about, input: {} };
  if (baselineOfQuestion(id) !== null) return { tool_name: 'check', ...about, input: {} };
  return budget
    ? { tool_name: 'budget', ...about, input: {} }
    : { tool_name: 'coding_task', ...about, input: { task_id } };
}
