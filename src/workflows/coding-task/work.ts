import { patched } from '@temporalio/workflow';
import type {
  AgreementAsked,
  BudgetStop,
  CarriedWork,
  Followed,
  HeldBack,
  ModelLimit,
  Prepared,
} from '../../contracts/task.ts';
import { MINUTE, span } from '../../domain/time.ts';
import { awaitAnswer } from '../shared/await-answer.ts';
import { onItsHost } from './host.ts';
import { enter, send, tell } from './messages.ts';
import { insist, unlessOrdered, unpaused } from './orders.ts';
import { taskRecords } from './policies.ts';
import { afterAnswer, answered, ask, untilMayGoOn } from './questions.ts';
import { CANCELLED, type End, isCancelled, isRenewable, type Renewal, show, type TaskRun } from './task-run.ts';
import { askForHosts, askForRegistries, untilAgreed, untilOpen } from './waits.ts';

/**
 * Waits, for days if needed, until a person has said whether the repository may bring its own environment. No container
 * runs meanwhile. False when cancelled.
 */
async function untilAgreedTo(run: TaskRun, { questionId: id, outboxId, title }: AgreementAsked): Promise<boolean> {
  const { waits } = run.input;
  send(run, 'send question', outboxId);
  await enter(run, 'waiting', `waits for an answer: ${title}`, title);
  const promises = awaitAnswer(
    { id, decisions: run.decisions, isOver: () => isCancelled(run) },
    {
      what: 'an answer',
      waits,
      remindInMs: waits.remindAfterMs,
      remind: () => taskRecords.remind(id),
      send: (reminder) => send(run, 'send reminder', reminder),
      expire: () => taskRecords.expire(id),
      unanswered: 'deny',
    },
  );
  let next = promises.next();
  while (!next.done) next = promises.next(await next.value);
  if (isCancelled(run)) return false;
  await enter(run, 'running', 'goes on after the answer');
  return true;
}

/** How often a container that vanishes is replaced before the task fails. */
const MOST_REPLACEMENTS = 3;
/** What a person can do then: the reason of the last container stands before it. */
const NEVER_ENDED = `It was started again ${MOST_REPLACEMENTS} times, and never came to its end: something on its machine may stop containers. See Health on my page, under Settings, and start the task again.`;
/** Runs from before this change prepare nothing again after their plan. */
const PREPARES_WORK = '2026-11-prepares-work-after-plan';
/** How often operators see progress while an agent works. Each time costs three history events. */
const PROGRESS_MS = 60_000;

/**
 * Runs one container after the other until the task is done. A `step` is the number of a run. `carried`: where the
 * workflow run before this one stopped.
 */
export async function work(run: TaskRun, carried?: CarriedWork): Promise<End | Renewal> {
  const { parked, plan, firstStep = 1 } = run.input;
  if (!carried && !(await prepare(run))) return CANCELLED;
  const first = carried?.first ?? (parked ? await afterAnswer(run, parked) : firstStep);
  if (first === null) return CANCELLED;
  const at: CarriedWork = carried
    ? { ...carried }
    : { first, step: first, offset: 0, deaths: 0, asked: null, ...(plan && { plans: true }) };
  const early = !carried && plan?.handedIn ? await planned(run, at) : null;
  if (early) return early;
  for (let starts = !carried; ; ) {
    const { step } = at;
    run.view.step = step;
    if (starts) {
      const begun = await begin(run, at);
      if (begun === 'cancelled') return CANCELLED;
      if (begun) {
        const end = 'budget' in begun ? await atBudget(run, begun.budget) : await afterLimit(run, at, begun.limit);
        if (end) return end;
        continue;
      }
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
    const next = await after(run, at, followed);
    if (typeof next !== 'string') return next;
    starts = next === 'starts';
  }
}

/** What comes after something that `follow` saw: the container goes on, another run starts, or the task ends. */
type Next = 'goes on' | 'starts' | End;

async function after(run: TaskRun, at: CarriedWork, followed: Followed): Promise<Next> {
  const { taskId } = run.input;
  const { step } = at;
  switch (followed.what) {
    case 'progress':
      run.doing = followed.doing;
      return 'goes on';
    case 'question':
    case 'permission':
      at.asked = { id: followed.questionId, title: followed.title };
      return (await ask(run, step, at.asked)) ? 'goes on' : CANCELLED;
    case 'egress': {
      const next = await askForHosts(run, step, { id: followed.questionId, title: followed.title });
      if (next === 'cancelled') return CANCELLED;
      if (next === 'goes on') return next;
      break;
    }
    case 'limit': {
      // an agent that is told to stop may take its turn back: Gemini CLI removes the whole of it from its session
      await onItsHost(run, (host) => host.endStep({ taskId, step, kills: true }));
      const end = await afterLimit(run, at, followed);
      if (end) return end;
      break;
    }
    case 'told':
      await onItsHost(run, (host) => host.endStep({ taskId, step }));
      break;
    case 'budget': {
      if (!followed.asks) return await afterEnd(run, at, followed);
      await onItsHost(run, (host) => host.endStep({ taskId, step, kills: true }));
      const end = await atBudget(run, followed);
      if (end) return end;
      break;
    }
    default:
      return await afterEnd(run, at, followed);
  }
  at.step += 1;
  return 'starts';
}

/** A run is over: the task ends with it, or another run continues its session. */
async function afterEnd(run: TaskRun, at: CarriedWork, followed: Over): Promise<Next> {
  const { taskId } = run.input;
  const { step } = at;
  const end = handsIn(followed, at) ? await planned(run, at) : endedByItself(followed, at);
  if (end) return end;
  // there is an answer to its plan, for the next run
  if (at.step > step) return 'starts';
  await onItsHost(run, (host) => host.endStep({ taskId, step }));
  const { reason, final } = whyOver(run, followed);
  if (final) return { state: 'failed', reason };
  if (at.asked && (isParked(followed) || run.decisions[at.asked.id] === undefined)) {
    // the container is gone, the question is not: the session resumes with the answer, which may take days
    if (!(await answered(run, at.asked))) return CANCELLED;
  } else {
    at.deaths += 1;
    if (at.deaths > MOST_REPLACEMENTS) return { state: 'failed', reason: `${reason} ${NEVER_ENDED}` };
    await tell(
      run,
      `gone${step}`,
      `The agent in ${run.input.workspace}: ${reason} It goes on in a new container where its session stopped.`,
    );
  }
  at.step += 1;
  return 'starts';
}

/**
 * Waits for a yes to a plan. Hosts and images are requested after the plan is approved, because before that the work may
 * never start.
 */
async function planned(run: TaskRun, at: CarriedWork): Promise<End | null> {
  const end = await untilAgreed(run, at);
  if (end || at.plans || !patched(PREPARES_WORK)) return end;
  return (await prepare(run)) ? null : CANCELLED;
}

/** Starts the container of a run, unless its model is known to refuse. */
async function begin(run: TaskRun, { first, step, plans }: CarriedWork): Promise<HeldBack | 'cancelled' | undefined> {
  const { taskId, limits } = run.input;
  const checkpoint = step === first && !plans;
  show(run, 'running', checkpoint ? 'makes a checkpoint and starts the container' : 'starts the container');
  let held: HeldBack | undefined;
  const begun = await insist(run, step, async (host) => {
    held = await host.beginStep({
      taskId,
      step,
      holdMs: limits.holdMs,
      checkpoint,
      waitsForLimits: true,
      asksAtBudget: true,
      ...(plans && { plan: true }),
    });
  });
  return begun ? held : 'cancelled';
}

/**
 * Waits until the model takes requests again, and prepares what comes then: a person may have chosen another agent.
 * Returns how the task ends; null when it goes on.
 */
async function afterLimit(run: TaskRun, at: CarriedWork, limit: ModelLimit): Promise<End | null> {
  const { harness, orders } = run;
  const end = await untilOpen(run, at, limit);
  if (end) return end;
  if (!(await prepare(run))) return CANCELLED;
  if (orders.spoken) {
    orders.spoken = false;
    const how = run.harness === harness ? 'tries again now.' : `goes on with ${run.harness}.`;
    await tell(run, `now${at.step}`, `The agent in ${run.input.workspace} ${how}`);
  }
  await enter(run, 'running', 'goes on after the limit of its model');
  return null;
}

/** Asks whether more may be spent. No container runs meanwhile. Returns how the task ends; null when it goes on. */
async function atBudget(run: TaskRun, { reason, asks }: BudgetStop): Promise<End | null> {
  if (!asks) return { state: 'failed', reason };
  if (!(await untilMayGoOn(run, asks))) return CANCELLED;
  return (await prepare(run)) ? null : CANCELLED;
}

/** Looks for what the containers need; false when the task is cancelled. */
async function prepare(run: TaskRun): Promise<boolean> {
  const { taskId } = run.input;
  for (;;) {
    show(run, 'running', 'looks for its image and its working tree');
    let hosts: Prepared['hosts'];
    let agreement: Prepared['agreement'];
    const prepared = await insist(run, null, async (host) => {
      const found = await host.prepareTask({ taskId });
      run.harness = found?.harness ?? run.harness;
      ({ hosts, agreement } = found ?? {});
      if (found?.ask) send(run, 'send question', found.ask);
      if (found?.notice) send(run, 'send notice', found.notice);
    });
    if (!prepared) return false;
    if (!agreement) return hosts ? await askForRegistries(run, { id: hosts.questionId, title: hosts.title }) : true;
    if (!(await untilAgreedTo(run, agreement))) return false;
  }
}

/** Follows the log until something happens; 'ordered' when a cancellation or a pause interrupted it. */
async function follow(run: TaskRun, { step, offset }: CarriedWork): Promise<Followed | 'ordered'> {
  const { taskId, limits } = run.input;
  const from = Date.now();
  const input = {
    taskId,
    step,
    offset,
    silenceMs: limits.silenceMs,
    remainingMs: Math.max(limits.workMs - run.workedMs, 0),
    progressMs: PROGRESS_MS,
    waitsForLimits: true as const,
    asksForHosts: true as const,
    asksAtBudget: true as const,
    tells: true as const,
  };
  try {
    return await unlessOrdered(run, () =>
      onItsHost(run, (host) => {
        show(run, 'running', run.doing);
        return host.follow(input);
      }),
    );
  } finally {
    run.workedMs += Date.now() - from;
    run.workedSinceLimitMs += Date.now() - from;
  }
}

type Over = Exclude<Followed, { what: 'progress' | 'question' | 'permission' | 'egress' | 'limit' | 'told' }>;

const isParked = (followed: Over): boolean => followed.what === 'ended' && followed.outcome === 'parked';

/** Its agent has ended its turn while it could only read: what it said last is its plan. */
const handsIn = (followed: Over, { plans }: CarriedWork): boolean =>
  plans === true && followed.what === 'ended' && followed.outcome === 'completed';

/** The end of the task, when the agent ended by itself. */
function endedByItself(followed: Over, { asked }: CarriedWork): End | null {
  if (followed.what !== 'ended' || (isParked(followed) && asked)) return null;
  // nobody cancelled the task: its container was stopped from outside, for example by a host that shuts down
  if (followed.outcome === 'cancelled') return null;
  return { state: followed.outcome === 'completed' ? 'completed' : 'failed', reason: followed.reason, gone: true };
}

/** Why a run is over. `final`: another container would not help. */
function whyOver({ harness, input: { limits } }: TaskRun, followed: Over): { reason: string; final: boolean } {
  switch (followed.what) {
    case 'ended':
      return { reason: followed.reason, final: false };
    case 'gone':
      return { reason: followed.reason, final: followed.oom };
    case 'budget':
      return { reason: followed.reason, final: true };
    case 'silent':
      return {
        reason: `${harness} said nothing for ${Math.round(limits.silenceMs / MINUTE)} minutes and was ended.`,
        final: true,
      };
    case 'timeout':
      return {
        reason: `Its time (${span(limits.workMs)} of work) was used up. Start it again to go on.`,
        final: true,
      };
  }
}
