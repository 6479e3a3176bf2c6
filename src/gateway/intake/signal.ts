import { setTimeout as pause } from 'node:timers/promises';
import { type Client, isGrpcServiceError, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { listedName } from '../../adapters/workflows.ts';
import type { Config } from '../../config.ts';
import type { Arrival, ConversationInput, TurnLimits, Waits } from '../../contracts/conversation.ts';
import { AGENT_QUEUE, type Channel, taskWorkflowId } from '../../contracts/ids.ts';
import { arrivalSignal, CONVERSATION, decidedSignal, orderedSignal } from '../../contracts/signals.ts';
import type { TaskInput } from '../../contracts/task.ts';
import { HOUR, MINUTE } from '../../domain/time.ts';
import { markSignalled } from '../../store/chats/messages/inbox.ts';
import { channelOfChat, workflowOfChat } from '../../store/chats/threads/threads.ts';
import { wordsToPlan } from '../../store/kennel/questions/task-plans.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { chatsOfIds, nameWithoutNumber } from '../../store/owner/views/chats.ts';
import { type Db, perDatabase } from '../../store/postgres/database.ts';
import { traced } from '../../telemetry/tracing.ts';

/** Why a request cannot be accepted. Clients of the runtime API know the text of `message`. */
export class IntakeError extends Error {
  readonly code: 'not_found' | 'conflict' | 'invalid' | 'reused';
  constructor(code: IntakeError['code'], message: string) {
    super(message);
    this.name = 'IntakeError';
    this.code = code;
  }
}

/** Dependencies of intake. */
export interface IntakeDeps {
  db: Db;
  temporal: Client;
  config: Config;
}

/** The columns of a stored row that a signal needs. */
export interface ToSignal {
  inboxId: string;
  arrival: Arrival;
  chatId: string;
  channel: Channel;
  workflowId: string;
  /** how often its signal was lost with a Temporal server */
  resignalled?: number;
  /** where the trace of its message goes on; the span that this code runs in, when unset */
  traceParent?: string | null;
}

/**
 * The id under which a conversation knows a row. A lost one gets a new id, because a conversation drops ids that it has
 * seen, even those that it has lost since.
 */
export const signalId = (row: { inboxId: string; resignalled?: number }): string =>
  row.resignalled ? `${row.inboxId}~${row.resignalled}` : row.inboxId;

/**
 * Signals the conversation about a stored row, and starts it if needed. The workflow drops ids that it has seen, so a
 * repeated signal is harmless.
 */
export async function signalArrival(deps: IntakeDeps, row: ToSignal): Promise<void> {
  const attributes = {
    'fetch.inbox_id': row.inboxId,
    'fetch.meant': row.arrival.kind,
    'temporal.workflow_id': row.workflowId,
  };
  await traced('signal', { kind: 'producer', parent: row.traceParent, attributes }, () => signalOwner(deps, row));
  await markSignalled(deps.db, row.inboxId);
}

/** How long a request waits until its signal is accepted; usually that takes some milliseconds. */
const SIGNAL_PATIENCE_MS = 1000;
/** Whether the Temporal server took the last signal in time. */
const server = perDatabase(() => ({ answers: true }));

/**
 * The row is committed, and the sweeper repeats a lost signal: an unreachable Temporal server must not fail the request,
 * nor delay it for long. Of all requests that come while it is away, the first one waits.
 */
export async function signalSoon(deps: IntakeDeps, signal: ToSignal): Promise<void> {
  const known = server(deps.db);
  const signalled = signalArrival(deps, signal).then(
    () => {
      known.answers = true;
      return true;
    },
    (error) => !isServerAway(error),
  );
  if (!known.answers) return;
  known.answers = await Promise.race([signalled, pause(SIGNAL_PATIENCE_MS, false, { ref: false })]);
}

/** Has a stored message of a chat sent at once. Where the server is away, the sweeper finds the message. */
export async function deliverNow(deps: IntakeDeps, outboxId: string, chatId: string): Promise<void> {
  const [workflowId, channel] = await Promise.all([workflowOfChat(deps.db, chatId), channelOfChat(deps.db, chatId)]);
  const arrival: Arrival = { kind: 'reply', inboxId: outboxId, outboxId };
  await signalSoon(deps, { inboxId: outboxId, arrival, chatId, channel, workflowId });
}

async function signalOwner(deps: IntakeDeps, row: ToSignal): Promise<void> {
  const { arrival } = row;
  if (arrival.kind === 'task') await signalTask(deps, arrival.taskId, orderedSignal, arrival.order);
  else if (arrival.kind === 'answer' && arrival.taskId)
    await signalTask(deps, arrival.taskId, decidedSignal, {
      questionId: arrival.questionId,
      decision: arrival.decision,
    });
  else if (arrival.kind === 'answer' && arrival.workflowId)
    await signalIfThere(deps, arrival.workflowId, arrivalSignal, { ...arrival, inboxId: signalId(row) });
  else await signalConversation(deps, row);
}

/** A task without a workflow hears nothing. */
export const signalTask = (
  deps: Pick<IntakeDeps, 'temporal'>,
  taskId: string,
  signal: string,
  value: unknown,
): Promise<void> => signalIfThere(deps, taskWorkflowId(taskId), signal, value);

/** Nothing is lost without a workflow: answers and orders are in the store, where the next one looks. */
async function signalIfThere(
  { temporal }: Pick<IntakeDeps, 'temporal'>,
  workflowId: string,
  signal: string,
  value: unknown,
): Promise<void> {
  await temporal
    .withDeadline(Date.now() + 10_000, () => temporal.workflow.getHandle(workflowId).signal(signal, value))
    .catch((error) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

/** Names of chats that this process has signalled; most chats have their workflow already, which keeps the first name. */
const known = perDatabase(() => new Map<string, string>());
const MOST_KNOWN = 10_000;

async function nameOf(db: Db, chatId: string): Promise<string | undefined> {
  const names = known(db);
  const name = names.get(chatId);
  if (name !== undefined) return name;
  const chat = (await chatsOfIds(db, [chatId])).get(chatId);
  if (!chat) return undefined;
  if (names.size >= MOST_KNOWN) names.clear();
  names.set(chatId, nameWithoutNumber(chat));
  return names.get(chatId);
}

export async function signalConversation({ db, temporal, config }: IntakeDeps, row: ToSignal): Promise<void> {
  const chatName = await nameOf(db, row.chatId);
  const name = chatName && (await listedName(temporal, chatName));
  // without a deadline, the call may wait for ever when the server is away; the sweeper tries again
  await temporal.withDeadline(Date.now() + 10_000, () =>
    temporal.workflow.signalWithStart(CONVERSATION, {
      workflowId: row.workflowId,
      taskQueue: AGENT_QUEUE,
      args: [conversationInput(config, row)],
      signal: arrivalSignal,
      signalArgs: [{ ...row.arrival, inboxId: signalId(row) }],
      staticSummary: name ?? `Conversation on ${row.channel}`,
      ...(name && { memo: { name } }),
      staticDetails:
        'Owns one chat for ever: takes its messages in order, runs turns, waits for answers. Stop a turn by writing "stop" in the chat, not by terminating this workflow.',
      // how long a killed worker keeps a task that it had taken (measured: recovery takes 10 s at the default of 10 s)
      workflowTaskTimeout: 5_000,
    }),
  );
}

/** gRPC status codes: DEADLINE_EXCEEDED, UNAVAILABLE */
const AWAY = [4, 14];

/**
 * The server does not answer. The failure says nothing about its row, and the next row would wait as long. Calls of the
 * client wrap the status. Deeper causes are not read: a query that a worker did not answer is no sign of the server.
 */
export function isServerAway(error: unknown): boolean {
  const status = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(status) && AWAY.includes(status.code);
}

/** Start inputs of workflows, from the configuration. */

const conversationInput = (config: Config, chat: Pick<ConversationInput, 'chatId' | 'channel'>): ConversationInput => ({
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
