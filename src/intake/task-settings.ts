import type { Config } from '../config.ts';
import type { TaskInput } from '../contracts/task.ts';
import { channelOfChat } from '../store/chats/threads.ts';
import type { Task } from '../store/kennel/tasks.ts';
import type { Db } from '../store/postgres/database.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** What the workflow of a task is started with. */
export async function taskInput(db: Db, config: Config, task: Task): Promise<TaskInput> {
  return {
    taskId: task.id,
    chatId: task.chat_id,
    channel: await channelOfChat(db, task.chat_id),
    host: task.host,
    harness: task.harness,
    workspace: task.workspace,
    limits: {
      workMs: Number(task.timeout_ms),
      silenceMs: Math.round(config.FETCH_TASK_SILENCE_MINUTES * MINUTE),
      holdMs: Math.round(config.FETCH_TASK_HOLD_MINUTES * MINUTE),
      awayMs: Math.round(config.FETCH_KENNEL_AWAY_SECONDS * 1000),
      maxHistoryEvents: config.FETCH_MAX_HISTORY_EVENTS,
    },
    waits: {
      remindAfterMs: Math.round(config.FETCH_QUESTION_REMIND_HOURS * HOUR),
      expireAfterMs: Math.round(config.FETCH_QUESTION_EXPIRE_HOURS * HOUR),
    },
  };
}
