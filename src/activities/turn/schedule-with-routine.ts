import { isDeepStrictEqual } from 'node:util';
import type { DecidedBy } from '../../contracts/decision.ts';
import { mayTrust } from '../../domain/consent/policy.ts';
import { chatOfThread } from '../../store/chats/threads/threads.ts';
import type { Db } from '../../store/postgres/database.ts';
import { findRoutine } from '../../store/routines/routines.ts';
import { findQuestion, isAllowed } from '../../store/turns/questions/questions.ts';
import { type Call, callsBeside } from '../../store/turns/steps/calls.ts';

/** A routine and the schedule that the same answer of the model gives it are one question. */

const isOf = (schedule: Call, routine: Call): boolean =>
  routine.name === 'workflow_create' &&
  routine.args.schedule === undefined &&
  schedule.name === 'cron_create' &&
  schedule.policy === 'ask' &&
  schedule.position > routine.position &&
  schedule.args.chat === undefined &&
  typeof schedule.args.workflow === 'string' &&
  schedule.args.workflow.toLowerCase() === String(routine.args.name).toLowerCase();

/** The call that schedules the routine which this call makes. A second schedule has a question of its own. */
export async function scheduleBeside(db: Db, routine: Call): Promise<Call | undefined> {
  if (routine.name !== 'workflow_create') return undefined;
  return (await callsBeside(db, routine)).find((call) => isOf(call, routine));
}

/** What the answer about a routine decides about its schedule. `by`: null when nobody answered. */
type DecidedWith = { decision: 'allow'; by: DecidedBy } | { decision: 'deny'; by: DecidedBy | null };

/**
 * What was decided about this schedule together with its routine; null when it needs a question of its own: because the
 * routine is another one than was shown, or because a schedule asks for more than the person could allow.
 * `sentenceOf`: the question about both.
 */
export async function decidedWithRoutine(
  db: Db,
  schedule: Call,
  sentenceOf: (routine: Call) => Promise<string>,
): Promise<DecidedWith | null> {
  if (schedule.name !== 'cron_create') return null;
  const made = (await callsBeside(db, schedule)).find((call) => isOf(schedule, call));
  const question = made && (await findQuestion(db, made.id));
  if (!made || !question || question.state === 'open') return null;
  if ((await scheduleBeside(db, made))?.id !== schedule.id) return null;
  // the release before asked about the routine alone
  const sentence = await sentenceOf(made);
  if (question.prompt !== sentence && !question.prompt.startsWith(`${sentence}\n`)) return null;
  const { decided_by: by } = question;
  if (!isAllowed(question) || !by)
    return { decision: 'deny', by: by && { ...by, standing: by.standing ?? question.id } };
  const warned = !schedule.taint?.asks.length || (made.taint?.asks.length ?? 0) > 0;
  const isWithin = schedule.danger !== 'DANGEROUS' && !schedule.taint?.asks.length;
  if (!warned || !(mayTrust(by) || isWithin)) return null;
  const routine = await findRoutine(db, await chatOfThread(db, made.thread_id), String(made.args.name));
  const isAsShown =
    made.ok && routine?.id === made.metadata?.id && isDeepStrictEqual(routine?.steps, made.metadata?.steps);
  return isAsShown ? { decision: 'allow', by: { ...by, standing: by.standing ?? question.id } } : null;
}
