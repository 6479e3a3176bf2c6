import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  patched,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Decision } from '../contracts/decision.ts';
import { cancelUpdate, decidedSignal, holdsQuery, orderedSignal, pauseUpdate, resumeUpdate, viewQuery, workspaceFreeSignal } from '../contracts/signals.ts';
import type { CarriedWork, Concluded, Followed, TaskInput, TaskSpending, TaskState, TaskView } from '../contracts/task.ts';
import { canBeFailed, type Listed, list } from './attributes.ts';
import { DECISION_ON_RECORD, onRecord, readDecision } from './decisions.ts';
import { deliverOn } from './policies.ts';
import { hostIsAway, onHost, taskRecords } from './task-policies.ts';
import { failureOf } from './turn.ts';

/** A container that goes away by itself is started anew this often; then the task has failed. */
const REBIRTHS = 3;
/** A workspace that became free without a word of it is noticed after this long; by runs of earlier releases after the other. */
const CLAIM_AGAIN_MS = 3_600_000;
const CLAIM_AGAIN_EARLIER_MS = 20_000;
/** Runs that began before this look every twenty seconds, and never continue as new. */
const TAKES_WEEKS = '2026-11-task-takes-weeks';
/** A run without a limit of its own, from an earlier release. */
const MAX_EVENTS = 4_000;
/** Above this a task does not wait for its channel before it continues as new. */
const FAR_TOO_MANY_EVENTS = 20_000;
/** A host that is away is offered the work for so long at most before the next look for another one. */
const LONGEST_OFFER_MS = 15 * 60_000;

/** What operators see is renewed this often while an agent works: three history events each time. */
const PROGRESS_MS = 60_000;

/** `gone`: the harness ended its last step by itself; what is left of its container is nobody's work any more. */
type End = { state: Concluded['state']; reason: string; gone?: true };
/** Not the end: the history is full, and the task goes on from here in a new one. */
type Renewal = { renew: CarriedWork | null };

/**
 * One coding task: waits for its workspace, starts the agent in a container that needs nobody, follows its log, carries questions
 * to the person and answers back, and reports what git says. Whatever dies, the next attempt of an activity finds the container.
 */
export async function codingTask(input: TaskInput): Promise<TaskState> {
  const { taskId, limits, carried } = input;
  let place = carried?.host ?? input.host;
  let host = onHost(place, limits.awayMs);
  const view: TaskView = { state: 'queued', doing: 'waits for its workspace', waitingFor: null, step: 0 };
  const decisions: Record<string, Decision> = { ...carried?.decisions };
  let order: 'none' | 'cancel' | 'pause' = 'none';
  // read through a function: the compiler does not know that a handler may have changed it meanwhile
  const ordered = () => order;
  let held = false;
  // ordered by a word in the chat, which wants an answer; a tool answers by itself
  let spoken = false;
  let pauses = carried?.pauses ?? 0;
  let mayBeFree = false;
  let over = false;
  let interruptible: CancellationScope | null = null;
  let workedMs = carried?.workedMs ?? 0;
  let spent: TaskSpending = carried?.spent ?? { tokens: 0, microUsd: 0 };
  let doing = 'works';
  let sending: Promise<void> = Promise.resolve();
  const unsent = new Map<string, { summary: string; outboxId: string }>();

  const show = (state: TaskState, doing: string, waitingFor: string | null = null) => {
    const phase = state === 'waiting' ? 'waiting' : state === 'running' ? 'working' : state === 'failed' && canBeFailed() ? 'failed' : 'idle';
    if (state !== view.state) list(phase, { channel: input.channel, thread: null, waitsFor: WAITS_FOR[state] ?? null, spentMicroUsd: spent.microUsd });
    Object.assign(view, { state, doing, waitingFor });
    setCurrentDetails(
      [
        `**${state}**: ${doing}`,
        '',
        `- ${input.harness} in workspace \`${input.workspace}\` on host \`${place}\`, step ${view.step}`,
        `- spent $${(spent.microUsd / 1_000_000).toFixed(4)}, ${spent.tokens} tokens, as the gate counted`,
        `- worked ${Math.round(workedMs / 1000)} s of ${Math.round(limits.workMs / 1000)} s`,
      ].join('\n'),
    );
  };
  const give = (next: 'cancel' | 'pause' | 'resume') => {
    if (over || order === 'cancel') return;
    order = next === 'resume' ? 'none' : next;
    if (next !== 'resume') interruptible?.cancel();
  };

  setHandler(defineSignal<[{ questionId: string; decision: Decision }]>(decidedSignal), ({ questionId, decision }) => {
    decisions[questionId] = decision;
  });
  setHandler(defineSignal<['cancel' | 'pause' | 'resume']>(orderedSignal), (next) => {
    spoken = true;
    give(next);
  });
  setHandler(defineSignal(workspaceFreeSignal), () => {
    mayBeFree = true;
  });
  setHandler(defineUpdate<TaskState, []>(cancelUpdate), async () => {
    give('cancel');
    await condition(() => over);
    return view.state;
  });
  setHandler(defineUpdate<TaskState, []>(pauseUpdate), async () => {
    give('pause');
    await condition(() => held || over);
    return view.state;
  });
  setHandler(defineUpdate<TaskState, []>(resumeUpdate), async () => {
    give('resume');
    await condition(() => !held || over);
    return view.state;
  });
  setHandler(defineQuery<TaskView>(viewQuery), () => view);
  setHandler(defineQuery<string[], [string[]]>(holdsQuery), (ids) => ids.filter((id) => id === order || unsent.has(id) || decisions[id] !== undefined));
  setDefaultSignalHandler((name) => log.warn('a signal that this version does not know was dropped', { name }));

  for (const each of carried?.unsent ?? []) send(each.summary, each.outboxId);
  const neverBegan: End = { state: 'cancelled', reason: input.firstStep === undefined ? 'It was cancelled before it began.' : 'It was cancelled.' };
  let end: End | Renewal;
  try {
    if (!carried?.work) show('queued', 'waits for its workspace');
    end = carried?.work ? await work(carried.work) : (input.ended ?? (await claimed()));
  } catch (error) {
    // a cancellation from outside (the Web UI) is an order like one of ours; anything else is said as it is
    end = isCancellation(error) ? { state: 'cancelled', reason: 'It was cancelled.' } : { state: 'failed', reason: failureOf(error).message };
  }
  if ('renew' in end)
    return await continueAsNew<typeof codingTask>({
      ...input,
      carried: { host: place, decisions, workedMs, spent, pauses, unsent: [...unsent.values()], work: end.renew },
    });
  const { state: ending, reason, gone } = end;
  return await CancellationScope.nonCancellable(async () => {
    show(view.state, 'ends the container, commits, reports');
    // one that never began has no container, and must end also where there is no engine
    if (view.step > 0 && !gone) await away(() => host.endStep({ taskId, step: view.step }));
    const concluded = await away(() => host.conclude({ taskId, state: ending, reason }));
    over = true;
    show(concluded.state, reason);
    for (const waiting of concluded.waiting)
      await getExternalWorkflowHandle(waiting)
        .signal(workspaceFreeSignal)
        .catch(() => {});
    send('send report', concluded.outboxId);
    await sending;
    return concluded.state;
  });

  /** Sends in order and holds nothing up: a channel that is away must not keep an answer from its task. */
  function send(summary: string, outboxId: string): void {
    unsent.set(outboxId, { summary, outboxId });
    sending = sending
      .then(() => deliverOn(input.channel, summary, { outboxId }))
      .catch((error) => log.error('a message could not be sent', { outboxId, error: failureOf(error).message }));
    // beside the chain, not in it: one link more would put the commands of recorded runs in another order
    void sending.then(() => unsent.delete(outboxId));
  }

  /** The history is full, and nothing is under way that a new one would lose. */
  function renewable(): boolean {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    if (!continueAsNewSuggested && historyLength <= (limits.maxHistoryEvents ?? MAX_EVENTS)) return false;
    if (order !== 'none' || !allHandlersFinished() || (unsent.size > 0 && historyLength < FAR_TOO_MANY_EVENTS)) return false;
    return patched(TAKES_WEEKS);
  }

  /** Waits for the workspace, then works. */
  async function claimed(): Promise<End | Renewal> {
    for (;;) {
      if (order === 'cancel') return neverBegan;
      mayBeFree = false;
      const claimed = await taskRecords.claimWorkspace.executeWithOptions({ summary: 'claim the workspace' }, [taskId]);
      // ordered when there was no workflow to be signalled
      if (claimed === 'cancel') return neverBegan;
      if (claimed === 'pause') {
        spoken = true;
        give('pause');
      }
      if (claimed) return await work();
      if (renewable()) return { renew: null };
      // who ends wakes who waits: the look is for a word that was lost
      const again = patched(TAKES_WEEKS) ? CLAIM_AGAIN_MS : CLAIM_AGAIN_EARLIER_MS;
      await condition(() => mayBeFree || order === 'cancel', again, { summary: 'waiting for the workspace' });
    }
  }

  async function work(before?: CarriedWork): Promise<End | Renewal> {
    if (!before) {
      show('running', 'looks for its image and its working tree');
      if (!(await insist(null, () => host.prepareTask({ taskId })))) return CANCELLED;
    }
    let offset = before?.offset ?? 0;
    let deaths = before?.deaths ?? 0;
    let asked = before?.asked ?? null;
    const begun = input.parked && !before ? await afterAnswer(input.parked) : (input.firstStep ?? 1);
    if (begun === null) return CANCELLED;
    const first = before?.first ?? begun;
    for (let step = before?.step ?? first; ; step += 1) {
      view.step = step;
      const checkpoint = step === first;
      if (step !== before?.step) {
        show('running', checkpoint ? 'makes a checkpoint and starts the container' : 'starts the container');
        if (!(await insist(step, () => host.beginStep({ taskId, step, holdMs: limits.holdMs, checkpoint })))) return CANCELLED;
      }
      // one step: until its container ends, or is ended
      for (;;) {
        if (renewable()) return { renew: { first, step, offset, deaths, asked } };
        const followed = await followOn(step, offset);
        if (followed === 'ordered') {
          if (!(await unpaused(step))) return CANCELLED;
          continue;
        }
        offset = followed.offset;
        spent = followed.spent;
        if (followed.what === 'progress') {
          doing = followed.doing;
          continue;
        }
        if (followed.what === 'question' || followed.what === 'permission') {
          asked = { id: followed.questionId, title: followed.title };
          if ((await ask(followed, step)) === 'cancelled') return CANCELLED;
          continue;
        }
        if (followed.what === 'ended' && followed.outcome === 'parked' && asked) {
          // the session is over, the question is not: it may be answered in days
          await away(() => host.endStep({ taskId, step }));
          if (!(await answered(asked))) return CANCELLED;
          break;
        }
        // nobody here has cancelled it: its container was stopped from outside, as a host does that is shut down
        const stopped = followed.what === 'ended' && followed.outcome === 'cancelled';
        if (followed.what === 'ended' && !stopped)
          return { state: followed.outcome === 'completed' ? 'completed' : 'failed', reason: followed.reason, gone: true };
        await away(() => host.endStep({ taskId, step }));
        if (followed.what === 'gone' || followed.what === 'ended') {
          if (followed.what === 'gone' && followed.oom) return { state: 'failed', reason: followed.reason };
          // its container is gone, its question is not: the session goes on with the answer, as after it was parked
          if (asked !== null && decisions[asked.id] === undefined) {
            if (!(await answered(asked))) return CANCELLED;
            break;
          }
          deaths += 1;
          if (deaths > REBIRTHS) return { state: 'failed', reason: `${followed.reason} It was started anew ${REBIRTHS} times.` };
          await tell(`gone${step}`, `Task ${taskId}: ${followed.reason} It goes on in a new container where its session stopped.`);
          break;
        }
        return { state: 'failed', reason: endings(followed) };
      }
    }
  }

  /** A task whose workflow was lost while it waited goes on as one whose session was parked. The step with the answer; null when it is cancelled. */
  async function afterAnswer({ questionId, title, decided }: NonNullable<TaskInput['parked']>): Promise<number | null> {
    const step = input.firstStep ?? 1;
    view.step = step;
    if (decided) decisions[questionId] ??= decided;
    await away(() => host.endStep({ taskId, step }));
    return (await answered({ id: questionId, title })) ? step + 1 : null;
  }

  function endings(followed: Extract<Followed, { what: 'silent' | 'timeout' | 'budget' }>): string {
    if (followed.what === 'budget') return followed.reason;
    if (followed.what === 'silent') return `${input.harness} said nothing for ${Math.round(limits.silenceMs / 60_000)} minutes and was ended.`;
    return `Its time (${Math.round(limits.workMs / 1000)} s of work) was used up. Start it again with a longer timeout to go on.`;
  }

  /** Follows until something happens; 'ordered' when it was interrupted to be cancelled or paused. */
  async function followOn(step: number, offset: number): Promise<Followed | 'ordered'> {
    const from = Date.now();
    const input = { taskId, step, offset, silenceMs: limits.silenceMs, remainingMs: Math.max(limits.workMs - workedMs, 0), progressMs: PROGRESS_MS };
    try {
      return await unlessOrdered(() => {
        show('running', doing);
        return host.follow(input);
      });
    } finally {
      workedMs += Date.now() - from;
    }
  }

  /** Does what may take long (an image is built, a place becomes free) to its end, whatever pauses come between; false when it is cancelled. `step`: the one whose container a pause freezes. */
  async function insist(step: number | null, run: () => Promise<unknown>): Promise<boolean> {
    for (;;) {
      if (!(await unpaused(step))) return false;
      if ((await unlessOrdered(run)) !== 'ordered') return true;
    }
  }

  /** Runs something on the host that an order interrupts. */
  async function unlessOrdered<T>(run: () => Promise<T>): Promise<T | 'ordered'> {
    if (order !== 'none') return 'ordered';
    const scope = new CancellationScope();
    interruptible = scope;
    try {
      return await scope.run(() => away(run));
    } catch (error) {
      // also what its last attempt failed with (an engine that was away): the order is why it is not tried again
      if (scope.consideredCancelled && (isCancellation(error) || error instanceof ActivityFailure)) return 'ordered';
      throw error;
    } finally {
      interruptible = null;
    }
  }

  /** Asks the person and passes the decision on; 'held too long' leaves the question open. */
  async function ask(followed: Extract<Followed, { what: 'question' | 'permission' }>, step: number): Promise<'passed on' | 'held too long' | 'cancelled'> {
    const { questionId, title } = followed;
    const asked = await taskRecords.askForTask.executeWithOptions({ summary: `ask: ${title}` }, [{ taskId, questionId }]);
    if (asked.decided) decisions[questionId] = asked.decided;
    else if (decisions[questionId] !== undefined && patched(DECISION_ON_RECORD)) await readDecision(decisions, questionId);
    if (decisions[questionId] === undefined) {
      send('send question', asked.outboxId);
      await state('waiting', `waits for an answer: ${title}`, title);
      const cancelled = () => order === 'cancel';
      const settled = () => decisions[questionId] !== undefined || cancelled();
      const wait = { ms: limits.holdMs, from: Date.now(), summary: `waiting for an answer: ${title} (keeps its container)` };
      if (!(await condition(settled, wait.ms, wait))) return 'held too long';
      if (patched(DECISION_ON_RECORD) && !(await onRecord(decisions, questionId, wait, cancelled))) return 'held too long';
      if (order === 'cancel') return 'cancelled';
    }
    await state('running', 'goes on after the answer');
    await away(() => host.passOn({ taskId, step, questionId }));
    return 'passed on';
  }

  /** Waits for days for the answer to a question whose container is gone; reminds once, expires by policy. False when cancelled. */
  async function answered({ id: questionId, title }: { id: string; title: string }): Promise<boolean> {
    const cancelled = () => order === 'cancel';
    const settled = () => decisions[questionId] !== undefined || cancelled();
    const { remindAfterMs, expireAfterMs } = input.waits;
    const left = Math.max(remindAfterMs - limits.holdMs, 1);
    if (!settled()) show('waiting', `waits for an answer: ${title} (its container is ended)`, title);
    const first = { ms: left, from: Date.now(), summary: 'waiting for an answer (reminds once)' };
    let done = await condition(settled, first.ms, first);
    if (done && patched(DECISION_ON_RECORD)) done = await onRecord(decisions, questionId, first, cancelled);
    if (!done) {
      const reminder = await taskRecords.remindForTask.executeWithOptions({ summary: 'remind of the open question' }, [questionId]);
      if (reminder) send('send reminder', reminder);
      const second = { ms: Math.max(expireAfterMs - remindAfterMs, 1), from: Date.now(), summary: 'waiting for an answer (then expires)' };
      done = await condition(settled, second.ms, second);
      if (done && patched(DECISION_ON_RECORD)) done = await onRecord(decisions, questionId, second, cancelled);
    }
    if (!done) {
      const expired = await taskRecords.expireForTask.executeWithOptions({ summary: 'nobody answered: the question expires' }, [questionId]);
      if (expired) decisions[questionId] = 'answered';
      else {
        await condition(settled, 60_000, { summary: 'an answer came at the last moment' });
        if (patched(DECISION_ON_RECORD)) await readDecision(decisions, questionId);
      }
    }
    if (order !== 'cancel') await state('running', 'goes on after the answer');
    return order !== 'cancel';
  }

  /** Holds still while the task is paused; false when it is cancelled. */
  async function unpaused(step: number | null): Promise<boolean> {
    if (order === 'pause') {
      if (step !== null) await away(() => host.setPaused({ taskId, step, paused: true }));
      await state('paused', 'is paused');
      held = true;
      pauses += 1;
      if (spoken) await tell(`paused${pauses}`, `Task ${taskId} is paused. Say "resume" and it goes on.`);
      spoken = false;
      await condition(() => order !== 'pause');
      held = false;
      if (spoken && ordered() === 'none') await tell(`resumed${pauses}`, `Task ${taskId} goes on.`);
      spoken = false;
      if (ordered() === 'none') {
        if (step !== null) await away(() => host.setPaused({ taskId, step, paused: false }));
        await state('running', 'goes on after the pause');
      }
    }
    return ordered() !== 'cancel';
  }

  /** Runs an activity of the host; while no worker of the host takes it, the person is told once, and it is offered again. */
  async function away<T>(run: () => Promise<T>): Promise<T> {
    for (let told = false, offer = limits.awayMs; ; ) {
      try {
        const result = await run();
        if (told) host = onHost(place, limits.awayMs);
        return result;
      } catch (error) {
        if (!hostIsAway(error)) throw error;
        if (!told)
          await tell(`away${view.step}`, `Task ${taskId} waits: the host "${place}" that it runs on does not answer. It goes on when the host is back.`);
        told = true;
        show(view.state, `waits for the host ${place}, which does not answer`);
        const other = await taskRecords.moveTask.executeWithOptions({ summary: 'look for another host' }, [{ taskId, from: place }]);
        if (!other) {
          // a host may be away for weeks, and each offer costs eight events
          offer = Math.min(offer * 2, LONGEST_OFFER_MS);
          host = onHost(place, offer);
          continue;
        }
        offer = limits.awayMs;
        await tell(`moved${view.step}`, `Task ${taskId} goes on at the host "${other}": "${place}" has been gone for long.`);
        place = other;
        host = onHost(place, limits.awayMs);
      }
    }
  }

  async function tell(key: string, text: string): Promise<void> {
    const outboxId = await taskRecords.tellTask.executeWithOptions({ summary: `tell: ${key}` }, [{ taskId, key, text }]);
    send('send notice', outboxId);
  }

  async function state(next: TaskState, doing: string, waitingFor: string | null = null): Promise<void> {
    show(next, doing, waitingFor);
    await taskRecords.setTaskState.executeWithOptions({ summary: doing.slice(0, 100) }, [{ taskId, state: next }]);
  }
}

const WAITS_FOR: Partial<Record<TaskState, Listed['waitsFor']>> = { queued: 'workspace', waiting: 'question', paused: 'resume' };

const CANCELLED: End = { state: 'cancelled', reason: 'It was cancelled.' };
