import type { CHANNELS } from './channels.ts';

/** Every id of the system is built here, so that ids in the Temporal Web UI and ids over HTTP have one grammar. */

/** Name of a channel that a chat may live on. */
export type Channel = keyof typeof CHANNELS;

/** `chat/<channel>/<key>`. Temporal never encrypts ids, so `key` is a keyed hash of the address and not the address. */
export const conversationId = (channel: Channel, chatKey: string): string => `chat/${channel}/${chatKey}`;

/** `routine/<run id>`: one execution of a routine. */
export const routineWorkflowId = (runId: string): string => `routine/${runId}`;

/** Temporal Schedule id of a cron. Its firings start workflows `cron/<id>/run-<time>`. */
export const scheduleId = (cronId: string): string => `cron/${cronId}`;
export const scheduledRunWorkflowId = (cronId: string): string => `cron/${cronId}/run`;

/** `reminder/<id>`: waits for its time, and says it. */
export const reminderWorkflowId = (reminderId: string): string => `reminder/${reminderId}`;

/** Task queue of workflows, model steps and worker-side tools. */
export const AGENT_QUEUE = 'agent';
/** Task queue of routine runs. Each worker takes few of them at once, so that a person is answered beside hundreds. */
export const BACKGROUND_QUEUE = 'background';
/** Task queue of sends on a channel. Only the process that holds the channel polls it. */
export const gatewayQueue = (channel: Channel): string => `gateway-${channel}`;

/** Key of the model step `step` of a turn: the same on every attempt. */
export const stepKey = (turnId: string, step: number): string => `${turnId}/${step}`;
/** Ids of outgoing messages are derived from the step that made them, so that a resend carries the same id. */
export const outboxId = (turnId: string, what: string): string => `out_${turnId.replace(/^turn_/, '')}_${what}`;

/** `task/<task id>`: one coding task, from its start to its report. */
export const taskWorkflowId = (taskId: string): string => `task/${taskId}`;
/** `shipment/<id>`: a pull request, from its branch to its merge. */
export const shipmentWorkflowId = (shipmentId: string): string => `shipment/${shipmentId}`;
/** `baseline/<id>`: checks of a project before anything is changed in it. `id` is of the project on its host. */
export const baselineWorkflowId = (baselineId: string): string => `baseline/${baselineId}`;
/** The check that asks a question, by the id of the question; null for any other one. */
export const baselineOfQuestion = (questionId: string): string | null =>
  /^(bas_[a-z0-9]{10})_/.exec(questionId)?.[1] ?? null;
/** Task queue of everything that needs the containers or workspaces of one host. */
export const kennelQueue = (host: string): string => `kennel-${host}`;

/**
 * Of routine runs, by hand or by schedule, and of the coding tasks that they start, which share a queue with people's:
 * a worker gets their tasks when no others wait. Conversations have no priority, which the server takes as 3: they live
 * for ever, and the priority of a workflow cannot be changed while it runs.
 */
export const BACKGROUND_PRIORITY = { priorityKey: 5 };
