import { SETUP_BYTES } from '../../../contracts/kennel.ts';
import { MOST_SCRIPTS, setupQuestion } from '../../../domain/tasks/setup.ts';
import { quotedEvidence } from '../../../domain/text/evidence.ts';
import { sayTo } from '../../chats/preferences.ts';
import type { ThreadTransaction } from '../../chats/thread-transaction.ts';
import type { Db } from '../../postgres/database.ts';
import { openedNow } from '../../turns/questions/ask.ts';
import { approvalText } from '../../turns/questions/question-text.ts';
import { isAllowed } from '../../turns/questions/questions.ts';
import type { Task } from '../tasks/tasks.ts';
import { approvalOfTask, insertQuestion, showQuestion, warningsOf } from './show-question.ts';

/** A script that a task proposed last. */
export interface ProposedSetup {
  questionId: string;
  script: string;
  answer: 'open' | 'allowed' | 'denied' | 'unanswered';
}

/**
 * Asks whether a script may be part of the image. "yes all" does not cover it, because a build reaches the network.
 * True when it is refused without a question: a container can write any line into its log.
 */
export async function askForSetup(
  tx: ThreadTransaction,
  task: Task,
  questionId: string,
  script: string,
): Promise<boolean> {
  const { now } = tx;
  const { count } = await now
    .selectFrom('setup_scripts')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('task_id', '=', task.id)
    .executeTakeFirstOrThrow();
  const refused = Number(count) >= MOST_SCRIPTS || script.trim() === '' || Buffer.byteLength(script) > SETUP_BYTES;
  const say = await sayTo(now, task.chat_id);
  const prompt = setupQuestion(task, refused ? [] : await warningsOf(now, task, say), say);
  const asks = await openedNow(tx, refused ? null : quotedEvidence(script));
  const body = approvalText({ ...asks, prompt }, say);
  if (!refused) await showQuestion(tx, task, questionId, body);
  const settled = refused
    ? { turn_id: task.turn_id, decision: 'deny' as const, state: 'cancelled' as const, decided_at: new Date() }
    : {};
  await insertQuestion(tx, task, { id: questionId, kind: 'approval', prompt, ...asks }, settled);
  if (refused) return true;
  await now.insertInto('setup_scripts').values({ question_id: questionId, task_id: task.id, script }).execute();
  tx.append(approvalOfTask(task, { questionId, body, asks }));
  return false;
}

/** The script that a task proposed last, as the person was shown it. */
export async function proposedSetup(db: Db, taskId: string): Promise<ProposedSetup | null> {
  const found = await db
    .selectFrom('setup_scripts as setup')
    .innerJoin('questions as question', 'question.id', 'setup.question_id')
    .selectAll('question')
    .select('setup.script')
    .where('setup.task_id', '=', taskId)
    .orderBy('setup.created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!found) return null;
  const answer =
    found.state === 'open'
      ? 'open'
      : isAllowed(found)
        ? 'allowed'
        : found.state === 'answered'
          ? 'denied'
          : 'unanswered';
  return { questionId: found.id, script: found.script, answer };
}
