import { randomUUID } from 'node:crypto';
import type { Arrival } from '../../contracts/conversation.ts';
import type { Source } from '../../contracts/taint.ts';
import { chatKey, freshId } from '../../store/chats/ids.ts';
import { arrivalOf, receive } from '../../store/chats/messages/inbox.ts';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { createThread, latestThread } from '../../store/chats/threads/threads.ts';
import { findTask, isOver, liveTaskOfThread, markOrdered } from '../../store/kennel/tasks/tasks.ts';
import type { Tx } from '../../store/postgres/database.ts';
import {
  type BackgroundTask,
  insertBackgroundTask,
  type TaskRow,
  taskOfKey,
} from '../../store/routines/background-tasks.ts';
import { activeTurn, openTurn } from '../../store/turns/turns.ts';
import { currentTrace } from '../../telemetry/tracing.ts';
import { type Automations, createAutomations } from './automations.ts';
import { once } from './once.ts';
import { type IntakeDeps, IntakeError, signalSoon } from './signal.ts';
import { addStop } from './stop-and-steer.ts';

/**
 * Orders a task to end: its coding task, or the turn that it runs as, also while that waits for an answer. What is over
 * stays as it is. An order is a row like a message, so a crash loses none.
 */
async function cancelTask(deps: IntakeDeps, task: TaskRow, key: RequestKey): Promise<void> {
  await once(deps, { threadId: task.thread_id, id: key, body: '' }, async (tx, { inboxId }) => {
    const coding = await codingTask(tx.now, task);
    if (coding && !isOver(coding.state)) {
      await markOrdered(tx.now, coding.id, 'cancel');
      return { arrival: { kind: 'task', inboxId, taskId: coding.id, order: 'cancel' }, turnId: null };
    }
    // another turn of its thread is not the task's
    const active = await activeTurn(tx.now, task.thread_id);
    if (active?.id !== task.turn_id) throw new IntakeError('conflict', OVER);
    return { arrival: addStop(tx, { turnId: active.id, inboxId }), turnId: active.id };
  }).catch((error) => {
    if (!(error instanceof IntakeError && error.message === OVER)) throw error;
  });
}

const OVER = 'The task is over.';

/** Looked up under the lock of the thread, because the turn of a background task may just have started it. */
const codingTask = (tx: Tx, { coding_task, coding, thread_id }: TaskRow) =>
  coding_task !== null ? findTask(tx, coding_task) : coding ? liveTaskOfThread(tx, thread_id) : undefined;

/** Work that nobody waits for: tasks, and what starts them on a schedule. */
export interface Background {
  startTask(request: BackgroundRequest): Promise<BackgroundTask>;
  cancelTask(task: TaskRow, key: RequestKey): Promise<void>;
  automations: Automations;
}

export const createBackground = (deps: IntakeDeps & { secret: string }): Background => ({
  startTask: (request) => startBackgroundTask(deps, request),
  cancelTask: (task, key) => cancelTask(deps, task, key),
  automations: createAutomations(deps),
});

/** A prompt that runs as the turn of a thread of its own. */
interface BackgroundRequest {
  prompt: string;
  model: string | undefined;
  workspace: string | undefined;
  mode: string | undefined;
  allowShell: boolean;
  trustMode: boolean;
  autoApprove: boolean;
  /** its words start a coding task */
  coding?: boolean;
  /** the run of an automation that starts it */
  runId?: string;
  /** what the person is told at its beginning */
  notice?: string;
  /** whose wish it may be, besides the person's */
  sources?: readonly Source[];
  /** the same key gives the same task */
  key: RequestKey;
}

/**
 * Makes the thread with its turn, and the task, in one transaction: a crash leaves all of it or nothing. The signal may
 * be lost, and is then repeated like that of every inbox row. @throws KeyReused
 */
export async function startBackgroundTask(
  deps: IntakeDeps & { secret: string },
  request: BackgroundRequest,
): Promise<BackgroundTask> {
  const { db, config, secret } = deps;
  const id = freshId('task_');
  let made: BackgroundTask | undefined;
  await createThread(db, {
    channel: 'api',
    model: request.model ?? config.AGENT_MODEL ?? 'auto',
    workspace: request.workspace ?? config.FETCH_WORKSPACE ?? process.cwd(),
    mode: request.mode ?? 'agent',
    allow_shell: request.allowShell,
    trust_mode: request.trustMode,
    auto_approve: request.autoApprove,
    archived: false,
    task_id: id,
    autonomy: config.FETCH_AUTONOMY,
    chatKey: (address) => chatKey(secret, 'api', address),
    key: request.key,
    also: (tx) => {
      made = openTask(tx, id, request);
    },
  });
  if (!made) return (await taskOfKey(db, request.key))!;
  const row = (await arrivalOf(db, made.inbox_id))!;
  await signalSoon(deps, {
    inboxId: row.id,
    arrival: row.arrival as Arrival,
    chatId: row.chat_id,
    channel: row.channel,
    workflowId: row.workflow_id,
  });
  return made;
}

/** A prompt of a chat that a schedule runs now. */
interface ScheduledPrompt {
  runId: string;
  chatId: string;
  /** of the schedule */
  name: string;
  prompt: string;
  /** whose wish it may be, besides the person's */
  sources: readonly Source[];
}

/**
 * Begins the turn of a scheduled prompt, once. False while another turn of its chat runs, because people come first.
 * @throws NotFound when the chat has no thread
 */
export async function beginScheduledTurn(deps: IntakeDeps, scheduled: ScheduledPrompt): Promise<boolean> {
  const { runId, chatId, name, prompt, sources } = scheduled;
  const thread = await latestThread(deps.db, chatId);
  if (!thread) throw new IntakeError('not_found', `Thread not found: of chat ${chatId}`);
  const threadId = thread.id;
  const request = { threadId, id: `run ${runId}`, body: prompt, writers: [{ role: 'agent' as const }] };
  const begun = once(deps, request, async (tx, { inboxId }) => {
    if (await activeTurn(tx.now, threadId)) throw new IntakeError('conflict', BUSY);
    const heard = sources.length > 0 ? { sources, words: '' } : { words: prompt };
    const forModel = `${prompt}\n\n[${automaticNote(name)}]`;
    const turn = openTurn(tx, { text: prompt, forModel, heard, notice: `By the schedule ${name}`, runId });
    return { arrival: { kind: 'turn', inboxId, turnId: turn.id, threadId }, turnId: turn.id };
  });
  return await begun.then(
    () => true,
    (error) => {
      if (error instanceof IntakeError && error.message === BUSY) return false;
      throw error;
    },
  );
}

const BUSY = 'Another turn of the chat runs.';

/** What the model is told of a turn that nobody has just asked for. */
const automaticNote = (name: string): string =>
  `This comes from the schedule ${JSON.stringify(name)}, without the person. Your answer is sent to them, except for what stands in <internal>…</internal>; an answer that is only that sends nothing.`;

function openTask(
  tx: ThreadTransaction,
  id: string,
  { prompt, coding = false, runId, notice, sources = [] }: BackgroundRequest,
): BackgroundTask {
  const inboxId = freshId('inb_');
  const turn = openTurn(tx, { text: prompt, notice, ...(sources.length > 0 && { heard: { sources, words: '' } }) });
  const arrival: Arrival = { kind: 'turn', inboxId, turnId: turn.id, threadId: tx.threadId };
  // the key is the thread's: nobody else can write to it yet
  const key = { id: randomUUID(), fingerprint: null };
  receive(tx, {
    id: inboxId,
    turnId: turn.id,
    key,
    arrival,
    body: prompt,
    writtenBy: [{ role: 'client', channel: 'api' }],
    traceParent: currentTrace(),
  });
  const task = { id, thread_id: tx.threadId, turn_id: turn.id, inbox_id: inboxId, coding, run_id: runId ?? null };
  insertBackgroundTask(tx, task);
  return { ...task, created_at: tx.at };
}
