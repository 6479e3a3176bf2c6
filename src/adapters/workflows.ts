import { createHash } from 'node:crypto';
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../config.ts';
import type { ReminderInput } from '../contracts/activities.ts';
import type { BaselineInput } from '../contracts/baseline.ts';
import type { Arrival } from '../contracts/conversation.ts';
import {
  AGENT_QUEUE,
  BACKGROUND_PRIORITY,
  BACKGROUND_QUEUE,
  baselineOfQuestion,
  baselineWorkflowId,
  reminderWorkflowId,
  routineWorkflowId,
  shipmentWorkflowId,
} from '../contracts/ids.ts';
import type { RoutineInput } from '../contracts/routine.ts';
import type { ShipmentInput } from '../contracts/shipment.ts';
import { arrivalSignal, BASELINE, REMINDER, ROUTINE, SHIPMENT, wantedSignal } from '../contracts/signals.ts';
import { inline } from '../domain/text/foreign-text.ts';
import { HOUR } from '../domain/time.ts';
import { encrypts } from './payloads/codec.ts';

/** Longest name in a list of the Temporal Web UI, in characters. */
const NAME_CHARS = 80;

/**
 * The name under which lists show a workflow or a schedule. It can hold words of people, so it is undefined where what
 * this client sends is not encrypted.
 */
export async function listedName({ options }: Client, name: string): Promise<string | undefined> {
  return (await encrypts(options.loadedDataConverter.payloadCodecs)) ? inline(name, NAME_CHARS) : undefined;
}

/**
 * Starts a run that somebody asked for. A second call with the same run changes nothing, also when the run has ended.
 */
export async function startRoutineRun(
  temporal: Client,
  input: RoutineInput & { runId: string },
  routineName: string,
): Promise<void> {
  const name = await listedName(temporal, routineName);
  try {
    await temporal.workflow.start(ROUTINE, {
      workflowId: routineWorkflowId(input.runId),
      taskQueue: BACKGROUND_QUEUE,
      args: [input],
      priority: BACKGROUND_PRIORITY,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: `run of ${name ?? `routine ${input.routineId}`}`,
      ...(name && { memo: { name } }),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Starts the workflow of a reminder, which the server holds back until it is due. False when it exists. */
export async function startReminder(
  temporal: Client,
  { id, due_at, what }: { id: string; due_at: Date; what: string },
): Promise<boolean> {
  const input: ReminderInput = { reminderId: id };
  const name = await listedName(temporal, `reminder: ${what}`);
  try {
    await temporal.withDeadline(Date.now() + 10_000, () =>
      temporal.workflow.start(REMINDER, {
        workflowId: reminderWorkflowId(id),
        taskQueue: AGENT_QUEUE,
        args: [input],
        startDelay: Math.max(0, due_at.getTime() - Date.now()),
        staticSummary: name ?? 'a reminder',
        ...(name && { memo: { name } }),
        staticDetails: `Due at ${due_at.toISOString()}. What it says is in the database.`,
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/** Starts the workflow of a pull request. False when it runs already. */
export async function startShipment(temporal: Client, input: ShipmentInput): Promise<boolean> {
  try {
    await temporal.withDeadline(Date.now() + 10_000, () =>
      temporal.workflow.start(SHIPMENT, {
        workflowId: shipmentWorkflowId(input.shipmentId),
        taskQueue: AGENT_QUEUE,
        args: [input],
        staticSummary: `pull request of ${input.workspace}`,
        memo: { name: `pull request of ${input.workspace}` },
        staticDetails: 'Watches a pull request to its merge. Say "ship stop" in its chat to end that.',
        workflowTaskTimeout: 5_000,
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

const idOf = (prefix: string, text: string): string =>
  prefix +
  BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)
    .toString(36)
    .slice(-10);

/** Of the check that `by` wants. */
export const roundOf = (by: string): string => idOf('', by);

/**
 * Has a project installed and tested once, after a check of it that is under way. `by`: what wants it, so that it is
 * begun once; `round`: of a check whose workflow was lost.
 */
export async function startBaseline(
  temporal: Client,
  config: Pick<Config, 'FETCH_QUESTION_REMIND_HOURS' | 'FETCH_QUESTION_EXPIRE_HOURS'>,
  wanted: Omit<BaselineInput, 'baselineId' | 'round' | 'waits'> & ({ by: string } | { round: string }),
): Promise<void> {
  const { host, workspace, chatId, channel, asks } = wanted;
  const baselineId = idOf('bas_', `${host}/${workspace}`);
  const input: BaselineInput = {
    ...{ host, workspace, chatId, channel, asks },
    baselineId,
    round: 'round' in wanted ? wanted.round : roundOf(wanted.by),
    waits: {
      remindAfterMs: Math.round(config.FETCH_QUESTION_REMIND_HOURS * HOUR),
      expireAfterMs: Math.round(config.FETCH_QUESTION_EXPIRE_HOURS * HOUR),
    },
  };
  await temporal.withDeadline(Date.now() + 10_000, () =>
    temporal.workflow.signalWithStart(BASELINE, {
      workflowId: baselineWorkflowId(baselineId),
      taskQueue: AGENT_QUEUE,
      args: [input],
      signal: wantedSignal,
      signalArgs: [input],
      staticSummary: `check of ${workspace}`,
      memo: { name: `check of ${workspace}` },
      staticDetails:
        'Installs and tests a copy of a project once, so that later failures can be told from earlier ones.',
    }),
  );
}

/** Tells a check that its question was taken back. */
export async function endBaseline(temporal: Client, questionId: string): Promise<void> {
  const answer: Arrival = { kind: 'answer', inboxId: questionId, questionId, decision: 'deny' };
  await temporal
    .withDeadline(Date.now() + 10_000, () =>
      temporal.workflow.getHandle(baselineWorkflowId(baselineOfQuestion(questionId)!)).signal(arrivalSignal, answer),
    )
    .catch((error) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

/** gRPC status code NOT_FOUND */
const NOT_FOUND = 5;

/** Ends every run of these workflows and deletes its history. Returns how many runs there were. */
export async function deleteRuns(temporal: Client, workflowIds: readonly string[]): Promise<number> {
  let deleted = 0;
  for (const id of workflowIds) {
    for await (const { workflowId, runId } of temporal.workflow.list({
      query: `WorkflowId = '${id.replaceAll("'", "''")}'`,
    })) {
      await temporal.workflow
        .getHandle(workflowId, runId)
        .terminate('its chat was forgotten')
        .catch((error) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        });
      await temporal.workflowService
        .deleteWorkflowExecution({ namespace: temporal.options.namespace, workflowExecution: { workflowId, runId } })
        .catch((error) => {
          if ((error as { code?: number }).code !== NOT_FOUND) throw error;
        });
      deleted += 1;
    }
  }
  return deleted;
}
