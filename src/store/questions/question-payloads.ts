import type { Selectable } from 'kysely';
import { argumentsEvidence } from '../../domain/text/evidence.ts';
import type { Db, Tx } from '../postgres/database.ts';
import { saidInStep } from '../steps/transcript.ts';
import type { QuestionTable } from '../turns/tables.ts';

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
export const shownEvidence = ({ evidence, shown }: Pick<Question, 'evidence' | 'shown'>): { evidence?: string; evidence_rest?: number } =>
  evidence === null ? {} : { evidence: evidence.slice(0, shown), ...(shown < evidence.length && { evidence_rest: evidence.length - shown }) };

/** Payload of `approval.required`, and of an open approval in a thread's detail. */
export async function approvalRequest(db: Db | Tx, question: Pick<Question, 'id' | 'call_id' | 'turn_id' | 'prompt' | 'evidence' | 'shown'>) {
  // a coding task asks without a call; the question itself says what it wants to do
  const call = question.call_id
    ? await db.selectFrom('calls').select(['name', 'args', 'turn_id', 'step']).where('id', '=', question.call_id).executeTakeFirstOrThrow()
    : null;
  return {
    id: question.id,
    approval_id: question.id,
    turn_id: question.turn_id,
    tool_name: call?.name ?? 'coding_task',
    description: question.prompt,
    intent_summary: call && (await saidInStep(db, call.turn_id, call.step)),
    input: call?.args ?? {},
    // a question from before evidence was stored has the arguments
    ...shownEvidence(question.evidence === null ? { evidence: argumentsEvidence(call?.args ?? {}) || null, shown: Number.MAX_SAFE_INTEGER } : question),
  };
}
