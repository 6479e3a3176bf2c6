import type { Decision } from '../../../contracts/decision.ts';
import type { AgreementAsked, PlanAsked } from '../../../contracts/task.ts';
import { filesOfPlan, quotedPlan, readPlan } from '../../../domain/tasks/plan.ts';
import { quotedEvidence } from '../../../domain/text/evidence.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { sayTo } from '../../chats/preferences.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import { planFirst } from '../../chats/threads/threads.ts';
import { type Db, json } from '../../postgres/database.ts';
import { openedNow } from '../../turns/questions/ask.ts';
import { inputRequest } from '../../turns/questions/question-payloads.ts';
import { approvalText, planText } from '../../turns/questions/question-text.ts';
import { handedIn, lastSaid } from '../tasks/task-log.ts';
import type { Task } from '../tasks/tasks.ts';
import { approvalOfTask, insertQuestion, placeOfQuestion, showQuestion } from './show-question.ts';
import { taskQuestionId } from './task-questions.ts';

const planQuestionId = (taskId: string, step: number): string => taskQuestionId(taskId, `plan_${step}`);

/**
 * Stores the plan of a run on its task, and asks for a yes to it, in one transaction. Once for each run; null when the
 * run said nothing.
 */
export async function askForPlan(db: Db, task: Task, step: number): Promise<PlanAsked | null> {
  const questionId = planQuestionId(task.id, step);
  const { turnId, out } = placeOfQuestion(questionId);
  const said = (await handedIn(db, task.id, step)) ?? (await lastSaid(db, task.id, step));
  if (said.trim() === '') return null;
  const plan = readPlan(said);
  return await onThread(db, task.thread_id, async (tx) => {
    const { now } = tx;
    const known = await now.selectFrom('questions').selectAll().where('id', '=', questionId).executeTakeFirst();
    if (known)
      return {
        questionId,
        outboxId: out,
        ...(known.state !== 'open' && { decided: known.decision ?? 'deny' }),
        ...(known.state === 'expired' && { expired: true }),
      };
    const asks = await openedNow(tx, quotedPlan(plan));
    const say = await sayTo(now, task.chat_id);
    const question = {
      kind: 'plan' as const,
      options: [],
      ...asks,
      prompt: say('plan.may', { agent: task.harness, goal: inline(task.goal, 100) }),
    };
    const intro = say('plan.made', { workspace: task.workspace });
    const body = planText(question, { intro, files: filesOfPlan(plan, say) }, say);
    await now
      .updateTable('tasks')
      .set({ plan: json({ step, ...plan }), last: 'waits for a yes to its plan' })
      .where('id', '=', task.id)
      .execute();
    await showQuestion(tx, task, questionId, body);
    await insertQuestion(tx, task, { id: questionId, ...question });
    tx.append({ event: 'user_input.required', turnId, payload: inputRequest({ id: questionId, ...question }) });
    return { questionId, outboxId: out };
  });
}

/**
 * What decides whether a task begins with a plan: the preference of its thread, and what the person wrote in the turn
 * that makes it.
 */
export async function planWishes(
  db: Db,
  threadId: string,
  turnId: string,
): Promise<{ preferred: boolean | null; words: string[] }> {
  const preferred = await planFirst(db, threadId);
  const said = await db
    .selectFrom('transcript')
    .select(['content', 'words'])
    .where('turn_id', '=', turnId)
    .where('role', '=', 'user')
    .execute();
  return { preferred, words: said.map(({ content, words }) => words ?? content) };
}

/** The answer of a person to a plan. */
export interface WordsToPlan {
  decision: Decision;
  words: string;
  /** what they wanted changed in this plan and in those before it, oldest first */
  changes: string[];
}

/**
 * What the person said to the plan that was handed in last; null when they said nothing yet, and after the work has
 * begun.
 */
export async function wordsToPlan(
  db: Db,
  { id, planning, plan }: Pick<Task, 'id' | 'planning' | 'plan'>,
): Promise<WordsToPlan | null> {
  if (!planning || !plan) return null;
  const asked = await db
    .selectFrom('questions')
    .select(['id', 'decision', 'answer'])
    .where('task_id', '=', id)
    .where('kind', '=', 'plan')
    .where('state', '=', 'answered')
    .orderBy('asked_at')
    .execute();
  const latest = asked.find((question) => question.id === planQuestionId(id, plan.step));
  if (!latest?.decision) return null;
  const changes = asked.flatMap(({ decision, answer }) => (decision === 'answered' && answer !== null ? [answer] : []));
  return { decision: latest.decision, words: latest.answer ?? '', changes };
}

/** The subject of a decision: `hash` of it, the file that asks for it, and all of it as text. */
interface Asked {
  hash: string;
  file: string;
  text: string;
}

/**
 * Asks once in a task whether the repository may bring its own image and commands. `decided`: the answer, or `expired`
 * when nobody gave one. "yes all" does not cover it, because a build reaches the network.
 */
export async function askForEnvironment(
  db: Db,
  task: Task,
  asked: Asked,
): Promise<AgreementAsked & { decided?: 'allow' | 'deny' | 'expired' }> {
  const questionId = taskQuestionId(task.id, `environment_${asked.hash}`);
  const { out } = placeOfQuestion(questionId);
  const title = `the environment of ${task.workspace}`;
  return await onThread(db, task.thread_id, async (tx) => {
    const { now } = tx;
    const known = await now.selectFrom('questions').selectAll().where('id', '=', questionId).executeTakeFirst();
    const answer = { questionId, outboxId: out, title };
    if (known?.state === 'open') return answer;
    if (known)
      return {
        ...answer,
        decided: known.state !== 'answered' ? 'expired' : known.decision === 'allow' ? 'allow' : 'deny',
      };
    const say = await sayTo(now, task.chat_id);
    const prompt = say('setup.environment', { file: inline(asked.file), workspace: task.workspace });
    const asks = await openedNow(tx, quotedEvidence(asked.text));
    const body = approvalText({ ...asks, prompt }, say);
    await showQuestion(tx, task, questionId, body);
    await insertQuestion(tx, task, { id: questionId, kind: 'approval', prompt, ...asks });
    tx.append(approvalOfTask(task, { questionId, body, asks }));
    return answer;
  });
}
