import type { CarriedWork, Followed } from '../../contracts/task.ts';
import { onItsHost } from './host.ts';
import { tell } from './messages.ts';
import { insist, unlessOrdered, unpaused } from './orders.ts';
import { afterAnswer, answered, ask } from './questions.ts';
import { CANCELLED, type End, isRenewable, type Renewal, show, type TaskRun } from './task-run.ts';

/** A container that goes away by itself is replaced this often; then the task has failed. */
const MOST_REPLACEMENTS = 3;
/** What operators see is renewed this often while an agent works: three history events each time. */
const PROGRESS_MS = 60_000;

/** Works step by step: a step is one container of the agent, from its start until it has ended or is ended. `carried`: where the run before this one stopped. */
export async function work(run: TaskRun, carried?: CarriedWork): Promise<End | Renewal> {
  const { taskId, limits, parked, firstStep = 1 } = run.input;
  if (!carried) {
    show(run, 'running', 'looks for its image and its working tree');
    if (!(await insist(run, null, (host) => host.prepareTask({ taskId })))) return CANCELLED;
  }
  const first = carried?.first ?? (parked ? await afterAnswer(run, parked) : firstStep);
  if (first === null) return CANCELLED;
  const at: CarriedWork = carried ? { ...carried } : { first, step: first, offset: 0, deaths: 0, asked: null };
  for (let starts = !carried; ; ) {
    const { step } = at;
    run.view.step = step;
    if (starts) {
      const checkpoint = step === first;
      show(run, 'running', checkpoint ? 'makes a checkpoint and starts the container' : 'starts the container');
      if (!(await insist(run, step, (host) => host.beginStep({ taskId, step, holdMs: limits.holdMs, checkpoint })))) return CANCELLED;
      starts = false;
    }
    if (isRenewable(run)) return { renew: at };
    const followed = await follow(run, at);
    if (followed === 'ordered') {
      if (!(await unpaused(run, step))) return CANCELLED;
      continue;
    }
    at.offset = followed.offset;
    run.spent = followed.spent;
    if (followed.what === 'progress') {
      run.doing = followed.doing;
      continue;
    }
    if (followed.what === 'question' || followed.what === 'permission') {
      at.asked = { id: followed.questionId, title: followed.title };
      if (!(await ask(run, step, at.asked))) return CANCELLED;
      continue;
    }
    const end = endedByItself(followed, at);
    if (end) return end;
    await onItsHost(run, (host) => host.endStep({ taskId, step }));
    const { reason, final } = whyOver(run, followed);
    if (final) return { state: 'failed', reason };
    if (at.asked && (isParked(followed) || run.decisions[at.asked.id] === undefined)) {
      // its container is gone, its question is not: the session goes on with the answer, which may come in days
      if (!(await answered(run, at.asked))) return CANCELLED;
    } else {
      at.deaths += 1;
      if (at.deaths > MOST_REPLACEMENTS) return { state: 'failed', reason: `${reason} It was started anew ${MOST_REPLACEMENTS} times.` };
      await tell(run, `gone${step}`, `Task ${taskId}: ${reason} It goes on in a new container where its session stopped.`);
    }
    at.step += 1;
    starts = true;
  }
}

/** Follows until something happens; 'ordered' when it was interrupted to be cancelled or paused. */
async function follow(run: TaskRun, { step, offset }: CarriedWork): Promise<Followed | 'ordered'> {
  const { taskId, limits } = run.input;
  const from = Date.now();
  const input = { taskId, step, offset, silenceMs: limits.silenceMs, remainingMs: Math.max(limits.workMs - run.workedMs, 0), progressMs: PROGRESS_MS };
  try {
    return await unlessOrdered(run, () =>
      onItsHost(run, (host) => {
        show(run, 'running', run.doing);
        return host.follow(input);
      }),
    );
  } finally {
    run.workedMs += Date.now() - from;
  }
}

type Over = Exclude<Followed, { what: 'progress' | 'question' | 'permission' }>;

const isParked = (followed: Over): boolean => followed.what === 'ended' && followed.outcome === 'parked';

/** The end of the task, when the harness has ended by its own will. */
function endedByItself(followed: Over, { asked }: CarriedWork): End | null {
  if (followed.what !== 'ended' || (isParked(followed) && asked)) return null;
  // nobody here has cancelled it: its container was stopped from outside, as a host does that is shut down
  if (followed.outcome === 'cancelled') return null;
  return { state: followed.outcome === 'completed' ? 'completed' : 'failed', reason: followed.reason, gone: true };
}

/** Why a step is over. `final`: another container would not help. */
function whyOver({ input: { harness, limits } }: TaskRun, followed: Over): { reason: string; final: boolean } {
  switch (followed.what) {
    case 'ended':
      return { reason: followed.reason, final: false };
    case 'gone':
      return { reason: followed.reason, final: followed.oom };
    case 'budget':
      return { reason: followed.reason, final: true };
    case 'silent':
      return { reason: `${harness} said nothing for ${Math.round(limits.silenceMs / 60_000)} minutes and was ended.`, final: true };
    case 'timeout':
      return { reason: `Its time (${Math.round(limits.workMs / 1000)} s of work) was used up. Start it again with a longer timeout to go on.`, final: true };
  }
}
