import { createHash } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import type { RunSpec } from '../../contracts/kennel.ts';
import { type SetupOutcome, setupAnswer } from '../../domain/tasks/setup.ts';
import { latestQuestionOfTask } from '../../store/kennel/questions/task-questions.ts';
import { type ProposedSetup, proposedSetup } from '../../store/kennel/questions/task-setups.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { tellProgress } from '../progress.ts';
import { workspaceOf } from './task-workspace.ts';

/** What became of the script that the task proposed last. */
export interface SetupSettled {
  /** for the agent; null when another question came after it */
  told: string | null;
  /** answers the same script at once */
  proposed: RunSpec['proposed'];
}

/**
 * Builds the image with the script that a person agreed to, before the run that goes on after the answer. A second call
 * finds what the first one did.
 */
export async function settleSetup(deps: KennelDeps, task: Task): Promise<SetupSettled | null> {
  const { db } = deps;
  const setup = await proposedSetup(db, task.id);
  if (!setup || setup.answer === 'open') return null;
  const outcome = await outcomeOf(deps, task, setup);
  const answer = setupAnswer(outcome);
  const latest = (await latestQuestionOfTask(db, task.id))?.id === setup.questionId;
  const sha256 = createHash('sha256').update(setup.script).digest('hex');
  return { told: latest ? answer : null, proposed: outcome === 'installed' ? undefined : { sha256, answer } };
}

async function outcomeOf(
  deps: KennelDeps,
  task: Task,
  { questionId, script, answer }: ProposedSetup,
): Promise<SetupOutcome> {
  if (answer !== 'allowed') return answer === 'denied' ? 'denied' : 'unanswered';
  const stopped = AbortSignal.any([cancellationSignal(), deps.draining]);
  const setup = { id: questionId, script };
  const failed = await deps.kennel.adoptSetup(
    task.harness,
    workspaceOf(deps.config, task),
    setup,
    tellProgress(deps, task),
    stopped,
  );
  return failed === null ? 'installed' : { failed };
}
