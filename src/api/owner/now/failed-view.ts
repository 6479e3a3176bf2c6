import type { OwnerAction, OwnerChat, OwnerFailed } from '../../../contracts/owner.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import type { FailedRow } from '../../../store/owner/views/failed.ts';
import { post, sayAgain } from '../shared.ts';

const UNKNOWN: Record<OwnerFailed['kind'], string> = {
  turn: 'It ended without an answer.',
  task: 'It ended without a reason.',
  routine: 'A step failed.',
  message: 'The channel did not take it.',
};

export const failedView = (row: FailedRow, chat: OwnerChat): OwnerFailed => ({
  kind: row.kind,
  id: row.id,
  chat,
  title: inline(row.title, 200),
  why: row.why ? inline(row.why, 1_000) : UNKNOWN[row.kind],
  at: row.at.toISOString(),
  actions: againOf(row),
});

/**
 * The words of a turn, said once more; a task by its goal and workspace; a schedule by its run. A message that was not
 * sent has gone into its chat all the same.
 */
function againOf({ kind, thread_id, said, workspace, cron_id }: FailedRow): OwnerAction[] {
  if (kind === 'routine' && cron_id !== null) return [post('again', `/v1/owner/schedules/${cron_id}/run`)];
  if (thread_id === null || said === null || said.trim() === '') return [];
  if (kind === 'turn') return [sayAgain(thread_id, said)];
  return kind === 'task' ? [sayAgain(thread_id, `Start this coding task in ${workspace} again: ${said}`)] : [];
}
