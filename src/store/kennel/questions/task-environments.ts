import type { AgreementAsked } from '../../../contracts/task.ts';
import { quotedEvidence } from '../../../domain/text/evidence.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import type { Db } from '../../postgres/database.ts';
import { openedNow } from '../../turns/questions/ask.ts';
import { approvalText } from '../../turns/questions/question-text.ts';
import type { Task } from '../tasks/tasks.ts';
import { approvalOfTask, insertQuestion, placeOfQuestion, showQuestion } from './show-question.ts';
import { taskQuestionId } from './task-questions.ts';

/** What a person decides about: `hash` of it, the file that asks for it, and all of it as text. */
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
    const prompt = `May ${inline(asked.file)} of ${task.workspace} bring its own image or commands? A Dockerfile is built with the network of this machine; commands run in the container of the task. With a no the task works with our image.`;
    const asks = await openedNow(tx, quotedEvidence(asked.text));
    const body = [`Task ${task.id} (${task.workspace}) needs your consent:`, approvalText({ ...asks, prompt })].join(
      '\n\n',
    );
    await showQuestion(tx, task, questionId, body);
    await insertQuestion(tx, task, { id: questionId, kind: 'approval', prompt, ...asks });
    tx.append(approvalOfTask(task, { questionId, body, asks }));
    return answer;
  });
}
