import type { AutomationState } from '../../../gateway/intake/background/automations.ts';
import type { AutomationRun } from '../../../store/routines/automations.ts';
import type { AutomationRecord, AutomationRunRecord } from './schemas.ts';

export const recordOf = (automation: AutomationState): AutomationRecord => ({
  schema_version: 1,
  id: automation.id,
  name: automation.name,
  prompt: automation.args.prompt,
  rrule: automation.rrule,
  cwds: automation.args.cwds,
  status: automation.enabled ? 'active' : 'paused',
  created_at: automation.created_at.toISOString(),
  updated_at: automation.updated_at.toISOString(),
  ...(automation.next_run_at && { next_run_at: automation.next_run_at.toISOString() }),
  ...(automation.last_run_at && { last_run_at: automation.last_run_at.toISOString() }),
  timezone: automation.time_zone,
  ...(automation.thread_id !== null && { thread_id: automation.thread_id }),
  allow_shell: automation.args.allow_shell,
  auto_approve: automation.args.auto_approve,
});

/** A run that somebody asked for was due when they did. */
export const runRecordOf = (automationId: string, run: AutomationRun): AutomationRunRecord => ({
  schema_version: 1,
  id: run.id,
  automation_id: automationId,
  scheduled_for: (run.scheduled_for ?? run.created_at).toISOString(),
  status: run.status,
  created_at: run.created_at.toISOString(),
  ...(run.started_at && { started_at: run.started_at.toISOString() }),
  ...(run.ended_at && { ended_at: run.ended_at.toISOString() }),
  ...(run.task_id !== null && { task_id: run.task_id }),
  ...(run.thread_id !== null && { thread_id: run.thread_id }),
  ...(run.turn_id !== null && { turn_id: run.turn_id }),
  ...(run.error !== null && { error: run.error }),
});
