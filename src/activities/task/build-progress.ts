import { setTaskNews, type Task } from '../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { createProgress, taskProgress } from '../progress.ts';

/** Tells the person and operators how far the build of an image is. */
export function tellProgress(deps: KennelDeps, task: Task): (text: string) => void {
  const progress = createProgress(deps, taskProgress(task), 0);
  return (text) => void Promise.all([setTaskNews(deps.db, task.id, text), progress(text)]).catch(() => {});
}
