import type { BeginInput } from '../../contracts/task.ts';
import { AGREED, agreedPlan, changePlan, PLAN_FIRST, planInWords, STILL_PLANNING } from '../../domain/tasks/plan.ts';
import type { WordsToPlan } from '../../store/kennel/questions/task-plans.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';

/** What decides what a run is told of its plan. */
interface Known {
  /** what the person said to the plan, when this run is the first after it */
  said: WordsToPlan | null;
  /** the agent has heard the answers to its own questions */
  heard: boolean;
  /** the session knows the plan */
  knows: boolean;
}

/** What the agent is told of its plan in this run; nothing for a task without one. */
export function aboutPlan(
  { plan }: Pick<Task, 'plan'>,
  { plan: plans }: Pick<BeginInput, 'plan'>,
  { said, heard, knows }: Known,
): string[] {
  const whole = plan && !knows ? [planInWords(plan, plans ? 'so far' : 'agreed')] : [];
  if (plans) {
    if (!heard) return [STILL_PLANNING];
    return [...whole, said?.decision === 'answered' ? changePlan(said.words) : PLAN_FIRST];
  }
  if (!plan) return [];
  return [...whole, said ? agreedPlan(said.changes) : AGREED];
}
