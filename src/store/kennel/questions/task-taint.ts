import { whyAsked } from '../../../domain/consent/taint.ts';
import { shownHost } from '../../../domain/tasks/egress.ts';
import type { Tx } from '../../postgres/database.ts';
import { reachedBy } from '../egress/egress.ts';
import type { Task } from '../tasks/tasks.ts';

/**
 * Why text of others may be behind what a task asks for: the task was made after some was read, or has read from hosts
 * itself.
 */
export async function warningsOf(tx: Tx, task: Task): Promise<string[]> {
  const call = await tx.selectFrom('calls').select('taint').where('id', '=', task.call_id).executeTakeFirst();
  const reached = await reachedBy(tx, task.id, 3);
  return [
    ...(call?.taint?.asks.length ? [whyAsked({ ...call.taint, asks: ['egress'] })] : []),
    ...(reached.length > 0
      ? [`It has read text of others before (${reached.map(shownHost).join(', ')}), and this may be their wish.`]
      : []),
  ];
}
