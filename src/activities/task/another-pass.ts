import { join } from 'node:path';
import { hasModel } from '../../../kennel/agents/registry.ts';
import { runFolder } from '../../adapters/kennel/run-folders.ts';
import { budgetsOf, nearlyUsedUp } from '../../domain/model/spending.ts';
import { passPrompt } from '../../domain/tasks/checks/verdict.ts';
import { ABOUT_COMMIT } from '../../domain/tasks/report.ts';
import { MINUTE } from '../../domain/time.ts';
import { tellTask, wordsOfTask } from '../../store/kennel/tasks/task-words.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { budgetsOfTask } from '../../store/kennel/tasks/usage.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { isPassing } from './on-copy.ts';
import { endStep } from './run/end-step.ts';
import { requireStillHere } from './task-result.ts';
import { brokenAfterRun } from './task-tests.ts';
import { workspaceOf } from './task-workspace.ts';

/** How often an agent goes on because tests fail at its end. */
const MOST_PASSES = 2;
/** With less working time than this left, an agent begins nothing again. */
const LEAST_MS = 5 * MINUTE;

/**
 * Tells an agent that has ended its turn which tests fail that did not fail before its work. False when it is to end:
 * nothing is broken, or too little of its time or budget is left. `deadline`: of its working time, in ms since the epoch.
 */
export async function needsAnotherPass(
  deps: KennelDeps,
  task: Task,
  { step, deadline }: { step: number; deadline: number },
): Promise<boolean> {
  const { db, config, kennel, log } = deps;
  // a plan changes nothing, and the checks of a pull request decide about its passes
  if (task.planning || task.shipment_id !== null || !mayRepair(task)) return false;
  const words = (await wordsOfTask(db, task.id)).filter(({ of_tests }) => of_tests);
  const mayGoOn = async () => Date.now() < deadline - LEAST_MS && !(await isNearlySpent(deps, task));
  if (words.length >= MOST_PASSES || !(await mayGoOn())) return false;
  await requireStillHere(deps, task);
  await endStep(deps, task, step);
  const home = join(runFolder(config, task.id), 'home');
  const found = await kennel
    .keepFetched(workspaceOf(config, task), home, { goesOn: true })
    .then(() => brokenAfterRun(deps, task, { again: words.length === 0 }))
    .catch((error: Error) => {
      if (isPassing(error)) throw error;
      // what is wrong with the tests is for the report; the task must come to its end
      log?.warn({ task: task.id, error: error.message }, 'the tests at the end of a run could not be run');
      return null;
    });
  if (!found || !(await mayGoOn())) return false;
  const text = `${passPrompt(found)}\n\n${ABOUT_COMMIT}`;
  return await tellTask(db, { id: `${task.id}_tests_${step}`, taskId: task.id, text, ofTests: true });
}

/** An agent without a model goes on only with what its goal has for this case. */
const mayRepair = ({ harness, goal }: Task): boolean => hasModel(harness) || /(?:^|;)\s*repair\s/.test(goal);

/** A pass that nobody asked for must not be what asks for more money. */
async function isNearlySpent({ db, config }: KennelDeps, task: Task): Promise<boolean> {
  const facts = await budgetsOfTask(db, task.id, config.FETCH_TIME_ZONE);
  return facts !== undefined && nearlyUsedUp(budgetsOf('task', facts, config), { orMore: true }).length > 0;
}
