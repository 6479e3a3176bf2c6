import type { Config } from '../../config.ts';
import type { BaselineRecordActivities } from '../../contracts/baseline.ts';
import type { TaskRecordActivities } from '../../contracts/task.ts';
import { limitNotice, limitStatus, otherAgents } from '../../domain/tasks/agents/limit-notice.ts';
import { mirrorsOf } from '../../domain/tasks/registries/mirrors.ts';
import { sayWhole } from '../../domain/texts/again.ts';
import { sayTo, zoneOf } from '../../store/chats/preferences.ts';
import { listHosts, moveTask } from '../../store/kennel/hosts.ts';
import { tellUnchecked } from '../../store/kennel/questions/baseline-questions.ts';
import { askAboutHosts, isAboutHosts, settleHosts } from '../../store/kennel/questions/egress-questions.ts';
import { askForPlan } from '../../store/kennel/questions/task-plans.ts';
import { askForTask, findQuestion } from '../../store/kennel/questions/task-questions.ts';
import { tellOfTask } from '../../store/kennel/tasks/task-news.ts';
import { claimWorkspace, findTask, setTaskLimited, setTaskState, type Task } from '../../store/kennel/tasks/tasks.ts';
import type { Db } from '../../store/postgres/database.ts';
import { expireQuestion, remindQuestion } from '../../store/turns/questions/decide.ts';
import { fail } from '../failure.ts';
import { recording } from '../heartbeat.ts';

/**
 * A host may only have been restarted while its container works on. Its task moves only after this many times the
 * patience.
 */
export const GONE_FACTOR = 10;

/** Short activities of a coding task, and of a check, on our own store. They run as local activities of the worker. */
export function createTaskRecords({
  db,
  config,
}: {
  db: Db;
  config: Config;
}): TaskRecordActivities & BaselineRecordActivities {
  const task = async (id: string): Promise<Task> => {
    const found = await findTask(db, id);
    if (!found) throw fail('NotFound', `Task ${id} is not in the database.`);
    return found;
  };
  return {
    tellUnchecked: recording((input: Parameters<BaselineRecordActivities['tellUnchecked']>[0]) =>
      tellUnchecked(db, input),
    ),
    claimWorkspace: recording((taskId: string) => claimWorkspace(db, taskId)),
    setTaskState: recording(({ taskId, state, note }: Parameters<TaskRecordActivities['setTaskState']>[0]) =>
      setTaskState(db, taskId, state, note === undefined ? {} : { last: note }),
    ),
    askForTask: recording(async ({ taskId, questionId }: Parameters<TaskRecordActivities['askForTask']>[0]) => {
      const found = await task(taskId);
      return await askForTask(db, found, questionId.slice(taskId.length + 1));
    }),
    askForPlan: recording(
      async ({ taskId, step }: Parameters<TaskRecordActivities['askForPlan']>[0]) =>
        await askForPlan(db, await task(taskId), step),
    ),
    askForHosts: recording(async ({ taskId, questionId }: Parameters<TaskRecordActivities['askForHosts']>[0]) =>
      askAboutHosts(db, await task(taskId), questionId, mirrorsOf(config.FETCH_KENNEL_MIRRORS)),
    ),
    remindForTask: recording((questionId: string) => remindQuestion(db, questionId)),
    expireForTask: recording(async (questionId: string) => {
      const expired = await expireQuestion(db, questionId);
      const question = await findQuestion(db, questionId);
      if (question && question.state !== 'open' && isAboutHosts(question)) await settleHosts(db, question);
      return expired;
    }),
    moveTask: recording(({ taskId, from }: Parameters<TaskRecordActivities['moveTask']>[0]) =>
      moveTask(db, taskId, from, config.FETCH_KENNEL_AWAY_SECONDS * GONE_FACTOR),
    ),
    limitTask: recording(async ({ taskId, key, limit, tell }: Parameters<TaskRecordActivities['limitTask']>[0]) => {
      const found = await task(taskId);
      const zone = await zoneOf(db, found.chat_id, config);
      let outboxId: string | null = null;
      if (tell) {
        const others = otherAgents(
          found,
          (await listHosts(db)).find(({ host }) => host === found.host)?.harnesses ?? [],
          config,
        );
        outboxId = await tellOfTask(
          db,
          found,
          key,
          limitNotice(found, limit, { zone, others }, await sayTo(db, found.chat_id)),
        );
      }
      await setTaskLimited(db, taskId, new Date(limit.opensAt), limitStatus(found, limit, zone));
      return outboxId;
    }),
    tellTask: recording(async ({ taskId, key, text }: Parameters<TaskRecordActivities['tellTask']>[0]) => {
      const found = await task(taskId);
      // the workflow has no catalogue, and says it in English
      const say = await sayTo(db, found.chat_id);
      const known = /^(paused|resumed)\d+$/.exec(key)?.[1] as 'paused' | 'resumed' | undefined;
      const said = known ? say(`task.${known}`, { workspace: found.workspace }) : sayWhole(text, 'story.', say);
      return await tellOfTask(db, found, key, said);
    }),
  };
}
