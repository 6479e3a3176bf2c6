import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { startBaseline, startShipment } from '../../../adapters/workflows.ts';
import type { Arrival } from '../../../contracts/conversation.ts';
import { AGENT_QUEUE, baselineOfQuestion, baselineWorkflowId } from '../../../contracts/ids.ts';
import { arrivalSignal, CODING_TASK, decidedSignal, orderedSignal } from '../../../contracts/signals.ts';
import type { TaskInput } from '../../../contracts/task.ts';
import { shipmentInputOf } from '../../../domain/shipping/input.ts';
import { taskPage } from '../../../domain/tasks/page.ts';
import { english } from '../../../domain/texts/say.ts';
import { MINUTE } from '../../../domain/time.ts';
import { cut } from '../../../store/chats/ids.ts';
import { channelOfChat } from '../../../store/chats/threads/threads.ts';
import type { WaitingCheck } from '../../../store/kennel/questions/baseline-questions.ts';
import { type Shipment, tasksOfShipment } from '../../../store/kennel/shipments/shipments.ts';
import { isLimited, isOver, orderedOf, type TaskWithQuestion } from '../../../store/kennel/tasks/tasks.ts';
import { type IntakeDeps, signalTask, taskInput } from '../signal.ts';
import type { Holdings } from './holdings.ts';

/** Wait before a failed workflow is started again, because the cause of the failure may still be there. */
const AFTER_FAILURE_MS = 10 * MINUTE;

/** A task that is open in the store needs a workflow that knows every order and answer. */
export async function compareTask(deps: IntakeDeps, holdings: Holdings, task: TaskWithQuestion): Promise<boolean> {
  const { question } = task;
  const decided = question?.state === 'answered' ? question.decision : null;
  const held = await holdings.of(task.workflow_id, ['cancel', 'pause', ...(question && decided ? [question.id] : [])]);
  if (held.status === 'FAILED' && held.closedAt && Date.now() - held.closedAt.getTime() < AFTER_FAILURE_MS)
    return false;
  if (held.status !== 'RUNNING') return await begin(deps, task, held.status === 'COMPLETED' ? 'completed' : 'lost');
  let found = await reorder(deps, task, held.missing);
  if (question && decided && held.missing.includes(question.id)) {
    await signalTask(deps, task.id, decidedSignal, { questionId: question.id, decision: decided });
    found = true;
  }
  return found;
}

/** A person's order is on the row. A workflow that does not have it lost it. */
async function reorder(deps: IntakeDeps, task: TaskWithQuestion, missing: readonly string[]): Promise<boolean> {
  // `cancel` overrides every other order
  if (!missing.includes('cancel')) return false;
  const lacking = lacks(task.ordered, missing);
  // read again: the order may just have been given, with its signal on the way
  if (!lacking || lacks((await orderedOf(deps.db, task.id)) ?? null, missing) !== lacking) return false;
  await signalTask(deps, task.id, orderedSignal, lacking);
  return true;
}

function lacks(ordered: 'cancel' | 'pause' | null, missing: readonly string[]): 'cancel' | 'pause' | 'resume' | null {
  if (ordered === null) return missing.includes('pause') ? null : 'resume';
  return missing.includes(ordered) ? ordered : null;
}

/**
 * Starts the workflow again. It finds the container by its label and the log lines by their numbers, so it continues
 * where it was.
 */
async function begin(
  { db, temporal, config }: IntakeDeps,
  task: TaskWithQuestion,
  how: 'completed' | 'lost',
): Promise<boolean> {
  const { question } = task;
  const waits = task.state === 'waiting' && !isLimited(task);
  const input: TaskInput = {
    ...(await taskInput(db, config, task)),
    // the run that met a limit has ended
    firstStep: Math.max(task.step, 1) + Number(isLimited(task)),
    ...(how === 'completed' && { ended: await endOf(temporal, task) }),
    ...(waits && question?.kind === 'plan' && { plan: { handedIn: true as const } }),
    ...(waits &&
      question &&
      question.kind !== 'plan' && {
        parked: {
          questionId: question.id,
          title: config.FETCH_UI_TEXT === 'on' ? cut(question.prompt, 60) : 'a question',
          ...(question.state !== 'open' && { decided: question.decision ?? 'deny' }),
        },
      }),
  };
  try {
    await temporal.workflow.start(CODING_TASK, {
      workflowId: task.workflow_id,
      taskQueue: AGENT_QUEUE,
      args: [input],
      ...taskPage(input),
      workflowTaskTimeout: 5_000,
    });
    return true;
  } catch (error) {
    // another gateway or the conversation started it
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/**
 * The workflow ended and the row did not: the store was restored to an earlier time. Report what git has, and repeat
 * nothing.
 */
async function endOf(temporal: Client, task: TaskWithQuestion): Promise<NonNullable<TaskInput['ended']>> {
  const result: unknown = await temporal.withDeadline(Date.now() + 10_000, () =>
    temporal.workflow.getHandle(task.workflow_id).result(),
  );
  const state =
    typeof result === 'string' && isOver(result as TaskWithQuestion['state'])
      ? (result as 'completed' | 'failed' | 'cancelled')
      : 'failed';
  return {
    state,
    reason: english('why.restored'),
  };
}

/**
 * A pull request that is watched needs its workflow. A lost one begins again at the commit that was pushed last, and
 * finds its tasks, questions and comments. Answers and orders need no signal: each look reads them from the store.
 */
export async function compareShipment(
  { db, temporal, config }: IntakeDeps,
  holdings: Holdings,
  shipment: Shipment,
): Promise<boolean> {
  const { status } = await holdings.of(shipment.workflow_id, []);
  if (status === 'RUNNING') return false;
  const [channel, tasks] = await Promise.all([channelOfChat(db, shipment.chat_id), tasksOfShipment(db, shipment.id)]);
  return await startShipment(temporal, shipmentInputOf(shipment, { channel, settings: config, passes: tasks.length }));
}

/** A check of a project that waits for a person, or has just heard a yes, needs its workflow. */
export async function compareCheck(
  { temporal, config }: IntakeDeps,
  holdings: Holdings,
  { questionId, answered, ...project }: WaitingCheck,
): Promise<boolean> {
  const workflowId = baselineWorkflowId(baselineOfQuestion(questionId)!);
  const held = await holdings.of(workflowId, answered ? [questionId] : []);
  // it has ended by itself: the project may be gone
  if (held.status === 'COMPLETED') return false;
  if (held.status !== 'RUNNING') {
    const round = questionId.slice(questionId.lastIndexOf('_') + 1);
    await startBaseline(temporal, config, { ...project, asks: true, round });
    return true;
  }
  if (held.missing.length === 0) return false;
  const answer: Arrival = { kind: 'answer', inboxId: questionId, questionId, decision: 'allow' };
  await temporal.workflow.getHandle(workflowId).signal(arrivalSignal, answer);
  return true;
}
