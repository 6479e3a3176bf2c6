import type { Decision } from '../../../contracts/decision.ts';
import { SETUP } from '../../../contracts/kennel.ts';
import { commandEvidence, plainDiff, quotedEvidence } from '../../../domain/text/evidence.ts';
import { blockQuote, inline, visible } from '../../../domain/text/foreign-text.ts';
import { cut } from '../../chats/ids.ts';
import { sayTo } from '../../chats/preferences.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import type { Db } from '../../postgres/database.ts';
import { openedNow, standingConsent } from '../../turns/questions/ask.ts';
import { inputRequest } from '../../turns/questions/question-payloads.ts';
import { approvalText, numbered } from '../../turns/questions/question-text.ts';
import type { Question } from '../../turns/questions/questions.ts';
import { askedLine } from '../tasks/task-log.ts';
import type { Task } from '../tasks/tasks.ts';
import { approvalOfTask, insertQuestion, placeOfQuestion, showQuestion } from './show-question.ts';
import { askForSetup } from './task-setups.ts';

/** Id of a question of a task: the same on every attempt. `asked`: the id in the run's log. */
export const taskQuestionId = (taskId: string, asked: string): string =>
  `${taskId}_${asked.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 60)}`;

export const findQuestion = (db: Db, id: string): Promise<Question | undefined> =>
  db.selectFrom('questions').selectAll().where('id', '=', id).executeTakeFirst();

/** The latest question of a task, answered or not. */
export const latestQuestionOfTask = (db: Db, taskId: string): Promise<Question | undefined> =>
  db
    .selectFrom('questions')
    .selectAll()
    .where('task_id', '=', taskId)
    .orderBy('asked_at', 'desc')
    .limit(1)
    .executeTakeFirst();

/** The open question of a task. */
export const openQuestionOfTask = (db: Db, taskId: string): Promise<Pick<Question, 'prompt' | 'kind'> | undefined> =>
  db
    .selectFrom('questions')
    .select(['prompt', 'kind'])
    .where('task_id', '=', taskId)
    .where('state', '=', 'open')
    .executeTakeFirst();

/** More than a person reads before an answer. */
const QUESTION_CHARS = 4_000;
const MOST_OPTIONS = 20;

/** Asks a task's question once: a turn that shows it, the question, and the outbox row, in one transaction. */
export async function askForTask(
  db: Db,
  task: Task,
  asked: string,
): Promise<{ questionId: string; outboxId: string; decided?: Decision }> {
  const questionId = taskQuestionId(task.id, asked);
  const { turnId, out } = placeOfQuestion(questionId);
  return await onThread(db, task.thread_id, async (tx) => {
    const { now } = tx;
    const known = await now.selectFrom('questions').selectAll().where('id', '=', questionId).executeTakeFirst();
    if (known)
      return { questionId, outboxId: out, ...(known.state !== 'open' && { decided: known.decision ?? 'deny' }) };
    const line = await askedLine(now, task.id, asked);
    if (!line) throw new Error(`Task ${task.id} has no question ${asked} in its log.`);
    if (line.type === 'permission' && line.kind === SETUP) {
      const refused = await askForSetup(tx, task, questionId, line.command ?? '');
      return { questionId, outboxId: out, ...(refused && { decided: 'deny' as const }) };
    }
    const say = await sayTo(now, task.chat_id);
    const kind = line.type === 'question' ? 'question' : 'approval';
    const may = say('task.may', { agent: task.harness, workspace: task.workspace });
    const options =
      line.type === 'question' ? line.options.slice(0, MOST_OPTIONS).map((option) => inline(option, 200)) : [];
    const prompt =
      line.type === 'question' ? cut(visible(line.question), QUESTION_CHARS) : `${may} ${inline(line.title)}`;
    // "yes all" was said in this thread: what follows is allowed without asking, and recorded
    const { auto_approve } = await now
      .selectFrom('threads')
      .select('auto_approve')
      .where('id', '=', task.thread_id)
      .executeTakeFirstOrThrow();
    const allowed = kind === 'approval' && auto_approve;
    const asks = await openedNow(tx, line.type === 'question' ? null : evidence(line));
    // the container's words are quoted line by line, because they may look like an answer or like our own message
    const shown =
      line.type === 'question'
        ? [
            say('task.asks', { workspace: task.workspace }),
            blockQuote(prompt),
            ...(options.length > 0 ? [blockQuote(numbered(options)), say('answer.choice')] : []),
          ]
        : [approvalText({ ...asks, prompt: `${may}\n\n${blockQuote(inline(line.title))}` }, say)];
    const body = shown.join('\n\n');
    if (!allowed) await showQuestion(tx, task, questionId, body);
    const settled = allowed ? { turn_id: task.turn_id, ...(await standingConsent(now, task.thread_id)) } : {};
    await insertQuestion(tx, task, { id: questionId, kind, prompt, options, ...asks }, settled);
    if (allowed) return { questionId, outboxId: out, decided: 'allow' };
    tx.append(
      kind === 'question'
        ? { event: 'user_input.required', turnId, payload: inputRequest({ id: questionId, prompt, options }) }
        : approvalOfTask(task, { questionId, body, asks }),
    );
    return { questionId, outboxId: out };
  });
}

/** What is asked for, as far as the agent said it: the command or the difference. */
function evidence(line: { command?: string; diff?: string }): string | null {
  if (line.diff) return quotedEvidence(plainDiff(line.diff));
  return line.command ? commandEvidence(line.command) : null;
}

/** Ends the questions of a task that is over, because nobody waits for their answers. */
export async function closeTaskQuestions(db: Db, taskId: string): Promise<void> {
  await db
    .updateTable('questions')
    .set({ state: 'cancelled', decided_at: new Date() })
    .where('task_id', '=', taskId)
    .where('state', '=', 'open')
    .execute();
}
