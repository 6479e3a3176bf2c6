import { CancellationScope, condition } from '@temporalio/workflow';
import type { RoutineActivities } from '../../contracts/routine.ts';
import type { TaskInput } from '../../contracts/task.ts';
import { MINUTE } from '../../domain/time.ts';
import { patientRecords } from '../shared/patient.ts';
import { startTask } from '../shared/start-task.ts';

const records = patientRecords<Pick<RoutineActivities, 'endTaskStep'>>();

/**
 * Between two looks for the end of a task. Its workflow usually tells it at once, as our child; each look costs six
 * events.
 */
const FIRST_LOOK_MS = 5_000;
const LONGEST_LOOK_MS = 5 * MINUTE;

/**
 * Starts the coding task of a routine step, and waits for its result, which becomes that of the step. A task outlives a
 * run that is cancelled. Steps of earlier releases do not say that they wait, so they end when the task has begun.
 */
export async function endOfTask(
  step: { runId: string; index: number },
  task: TaskInput | undefined,
  waits: true | undefined,
): Promise<boolean> {
  const child = task && (await CancellationScope.nonCancellable(() => startTask(task)));
  if (!waits) return true;
  let told = false;
  const tell = () => {
    told = true;
  };
  child?.result().then(tell, tell);
  const summary = `step ${step.index + 1}: the end of its task`;
  for (let looks = 0; ; looks += 1) {
    const [before, quick] = [told, Math.min(FIRST_LOOK_MS * 2 ** looks, LONGEST_LOOK_MS)];
    if (task || looks > 0) await condition(() => told !== before, child && !told ? LONGEST_LOOK_MS : quick);
    const { over, ok } = await records.endTaskStep.executeWithOptions({ summary }, [step]);
    if (over) return ok;
  }
}
