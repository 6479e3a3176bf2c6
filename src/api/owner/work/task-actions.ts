import type { OwnerAction } from '../../../contracts/owner.ts';
import { isLimited, isOver, type Task } from '../../../store/kennel/tasks/tasks.ts';
import { post } from '../shared.ts';

export const ORDERS = ['stop', 'pause', 'resume', 'undo', 'redo'] as const;
export type Order = (typeof ORDERS)[number];

/** What can be ordered of a coding task now. */
export function ordersOf(
  task: Pick<Task, 'id' | 'state' | 'pausing' | 'limited_until'> & { files_changed?: number | null },
): OwnerAction[] {
  const order = (name: Order) => post(name, `/v1/owner/tasks/${task.id}/${name}`);
  if (isOver(task.state)) return task.files_changed ? [order('undo'), order('redo')] : [];
  const held = task.state === 'paused' || task.pausing;
  return [order('stop'), ...(held || isLimited(task) ? [order('resume')] : []), ...(held ? [] : [order('pause')])];
}
