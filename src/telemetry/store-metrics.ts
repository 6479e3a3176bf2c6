import { gauge } from './registry.ts';

/**
 * What is in the store and on the Temporal server, which is the same for everybody. Only the api role reports it. With
 * several of them take `max`, because a sum would count it once for each.
 */

export const openQuestions = gauge('fetch_open_questions', 'Questions and approvals that wait for a person.');
export const activeTurns = gauge(
  'fetch_turns_active',
  'Turns that are in progress, those that wait for a person among them.',
);
export const tasks = gauge<'state'>('fetch_tasks', 'Coding tasks that have not ended, by state.');
export const unsignalled = gauge(
  'fetch_inbox_waiting',
  'Messages that are stored and that no workflow has heard of yet.',
);
export const unsignalledAge = gauge('fetch_inbox_oldest_seconds', 'How long the oldest of them has waited.');
export const unsent = gauge<'channel'>(
  'fetch_outbox_waiting',
  'Messages that are not sent yet, without those that wait for the end of quiet hours.',
);
export const unsentAge = gauge<'channel'>('fetch_outbox_oldest_seconds', 'How long the oldest of them has waited.');
export const whatsappState = gauge<'state'>(
  'fetch_whatsapp_state',
  '1 for the state of the WhatsApp account, 0 for the others. Absent when nobody linked one.',
);
export const whatsappNeeds = gauge('fetch_whatsapp_needs_person', '1 when a person must do something about WhatsApp.');
export const kennelHosts = gauge<'state'>(
  'fetch_kennel_hosts',
  'Kennel hosts: ready, without an engine, or gone (not seen for 30 s).',
);

export const queueBacklog = gauge<'task_queue' | 'kind'>(
  'fetch_task_queue_backlog',
  'Workflow tasks and activities that wait on a task queue, as the Temporal server estimates.',
);
export const queueAge = gauge<'task_queue' | 'kind'>(
  'fetch_task_queue_backlog_age_seconds',
  'How long the oldest of them has waited.',
);
export const queuePollers = gauge<'task_queue' | 'kind'>(
  'fetch_task_queue_pollers',
  'Workers that ask a task queue for work.',
);

export const backupAge = gauge(
  'fetch_backup_age_seconds',
  'Age of the newest backup of the nights. +Inf when there is none yet, absent where no folder for them is set.',
);
