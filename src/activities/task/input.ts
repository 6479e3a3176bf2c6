import type { Config } from '../../config.ts';
import type { TaskInput } from '../../contracts/task.ts';
import { taskInput } from '../../intake/workflow-inputs.ts';
import { isOver, taskOfCall } from '../../store/kennel/tasks.ts';
import type { Db } from '../../store/postgres/database.ts';

/** The task that a call has made and whose workflow is to be started; a retried call finds it again. */
export async function taskMadeBy({ db, config }: { db: Db; config: Config }, call: { id: string; name: string }, ok: boolean): Promise<{ task?: TaskInput }> {
  if (call.name !== 'task_create' || !ok) return {};
  const task = await taskOfCall(db, call.id);
  return task && !isOver(task.state) ? { task: await taskInput(db, config, task) } : {};
}
