import { setTimeout as pause } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { beat } from '../../src/activities/heartbeat.ts';
import type { TaskActivities } from '../../src/contracts/task.ts';
import { closeTaskQuestions, findQuestion, taskQuestionId } from '../../src/store/kennel/questions/task-questions.ts';
import { storeLines } from '../../src/store/kennel/tasks/task-log.ts';
import { taskOutboxId, tellOfTask } from '../../src/store/kennel/tasks/task-news.ts';
import { endTask, findTask, setTaskState, type Task, waitingFor } from '../../src/store/kennel/tasks/tasks.ts';
import type { Db } from '../../src/store/postgres/database.ts';

/**
 * A host without containers: the activities of a coding task on the real store, for tests of workflows that need many
 * tasks at once. The goal says what an agent would do: `hold NAME` works until NAME is released, `ask NAME` asks a
 * question and is done when it has the answer.
 */
export function kennelStandIn(db: Db): { activities: TaskActivities; release(name: string): void } {
  const released = new Set<string>();
  const found = async (id: string): Promise<Task> => {
    const task = await findTask(db, id);
    if (!task) throw new Error(`Task ${id} is not in the database.`);
    return task;
  };
  const follow: TaskActivities['follow'] = async ({ taskId, step, offset }) => {
    const task = await found(taskId);
    const [what, name = ''] = task.goal.split(' ');
    const spent = { tokens: 0, microUsd: 0 };
    if (what === 'ask') {
      const questionId = taskQuestionId(taskId, 'which');
      const question = await findQuestion(db, questionId);
      // a reader from the beginning of the log finds the question again
      if (!question || (question.state === 'open' && offset === 0)) {
        if (!question)
          await storeLines(db, task, [
            {
              seq: 1,
              step,
              at: new Date().toISOString(),
              type: 'question',
              id: 'which',
              question: 'Which?',
              options: [],
            },
          ]);
        return { what: 'question', questionId, title: 'Which?', offset: offset + 1, spent };
      }
      // its container was kept for as long as it may be
      if (question.state === 'open')
        return { what: 'ended', outcome: 'parked', reason: 'parked', offset: offset + 1, spent };
    }
    const signal = cancellationSignal();
    const stop = beat();
    try {
      while (what === 'hold' && !released.has(name)) {
        if (signal.aborted) throw signal.reason instanceof Error ? signal.reason : new CancelledFailure('cancelled');
        await pause(50);
      }
    } finally {
      stop();
    }
    return { what: 'ended', outcome: 'completed', reason: 'done', offset: offset + 1, spent };
  };
  return {
    release: (name) => void released.add(name),
    activities: {
      prepareTask: async ({ taskId }) => ({ harness: (await found(taskId)).harness }),
      beginStep: async ({ taskId, step }) => {
        await setTaskState(db, taskId, 'running', { step });
        return undefined;
      },
      follow,
      passOn: async () => {},
      endStep: async () => {},
      setPaused: async () => true,
      conclude: async ({ taskId, state, reason }) => {
        const task = await found(taskId);
        await closeTaskQuestions(db, taskId);
        const result = { summary: reason, changes: null, tests: null, said: '' };
        const ended = await endTask(db, taskId, { state, reason, result, outboxId: taskOutboxId(taskId, 'result') });
        const outboxId = await tellOfTask(db, task, 'result', `${task.goal}: ${ended.state}`, 'result');
        return { state: ended.state as typeof state, outboxId, filesChanged: 0, waiting: await waitingFor(db, task) };
      },
    },
  };
}
