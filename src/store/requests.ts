import type { Selectable } from 'kysely';
import type { Db, Tx } from './database.ts';
import type { QuestionTable } from './schema.ts';

type Question = Selectable<QuestionTable>;

/** Payload of `user_input.required`, and of an open question in a thread's detail. */
export const inputRequest = (question: Pick<Question, 'id' | 'prompt' | 'options'>) => ({
  id: question.id,
  request: {
    questions: [{ header: 'Question', id: question.id, question: question.prompt, options: question.options.map((label) => ({ label, description: '' })) }],
  },
});

/** Payload of `approval.required`, and of an open approval in a thread's detail. */
export async function approvalRequest(db: Db | Tx, question: Pick<Question, 'id' | 'call_id' | 'turn_id' | 'prompt'>) {
  const call = await db.selectFrom('calls').select(['name', 'args']).where('id', '=', question.call_id).executeTakeFirstOrThrow();
  return {
    id: question.id,
    approval_id: question.id,
    turn_id: question.turn_id,
    tool_name: call.name,
    description: question.prompt,
    intent_summary: null,
    input: call.args,
  };
}
