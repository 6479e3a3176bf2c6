import type { Config } from '../../config.ts';
import type { ConversationInput, TurnLimits, Waits } from '../../contracts/conversation.ts';
import type { TaskInput } from '../../contracts/task.ts';
import { HOUR, MINUTE } from '../../domain/time.ts';
import { channelOfChat } from '../../store/chats/threads/threads.ts';
import { wordsToPlan } from '../../store/kennel/questions/task-plans.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import type { Db } from '../../store/postgres/database.ts';

/** Start inputs of workflows, from the configuration. */

export const conversationInput = (
  config: Config,
  chat: Pick<ConversationInput, 'chatId' | 'channel'>,
): ConversationInput => ({
  chatId: chat.chatId,
  channel: chat.channel,
  limits: turnLimits(config),
  waits: questionWaits(config),
});

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
      limitedMs: Math.round(config.FETCH_TASK_WAIT_DAYS * 24 * HOUR),
      maxHistoryEvents: config.FETCH_MAX_HISTORY_EVENTS,
    },
    waits: questionWaits(config),
    ...(task.planning && (await wordsToPlan(db, task))?.decision !== 'allow' && { plan: {} }),
  };
}

const turnLimits = (config: Config): TurnLimits => ({
  maxSteps: config.FETCH_MAX_STEPS,
  maxToolCalls: config.FETCH_MAX_TOOL_CALLS,
  maxTokens: config.FETCH_MAX_TURN_TOKENS,
  maxMicroUsd: Math.round(config.FETCH_MAX_TURN_USD * 1_000_000),
  maxWallMs: Math.round(config.FETCH_MAX_TURN_MINUTES * MINUTE),
  parallelTools: 4,
  maxHistoryEvents: config.FETCH_MAX_HISTORY_EVENTS,
});

const questionWaits = (config: Config): Waits => ({
  remindAfterMs: Math.round(config.FETCH_QUESTION_REMIND_HOURS * HOUR),
  expireAfterMs: Math.round(config.FETCH_QUESTION_EXPIRE_HOURS * HOUR),
});
