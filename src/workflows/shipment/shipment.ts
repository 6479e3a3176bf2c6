import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  log,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow';
import type { Look, ShipmentInput, ShipmentState, ShipmentView, Unseen } from '../../contracts/shipment.ts';
import { arrivalSignal, holdsQuery, orderedSignal, viewQuery } from '../../contracts/signals.ts';
import {
  conflictKey,
  NEEDS_AGENT,
  nextOf,
  pauseAfter,
  pauseUnseen,
  REBASE_TRIED,
  seenOf,
} from '../../domain/shipping/next.ts';
import { failureOf } from '../shared/failure-of.ts';
import { pushPass, resumePass, runPass } from './passes.ts';
import { watch as server, shipmentRecords, tidyOn } from './policies.ts';
import { ask, hear, merge, untilDue, withdraw } from './questions.ts';
import {
  beginShipment,
  carriedBy,
  type End,
  isRenewable,
  noteHead,
  onItsHost,
  type ShipmentRun,
  show,
  tell,
} from './shipment-run.ts';

/**
 * A pull request, from its branch to its merge. It is looked at for weeks. What fails is corrected by coding tasks, what
 * they make is pushed after a yes, and what is unclear is asked. Only the owner's word or rule merges it.
 */
export async function shipment(input: ShipmentInput): Promise<ShipmentState> {
  const run = beginShipment(input);
  listen(run);
  let end: End | 'renew';
  try {
    end = (await open(run)) ?? (await watch(run));
  } catch (error) {
    // a cancellation from outside (the Web UI) counts as a word; any other failure is reported as it is
    end = isCancellation(error) ? STOPPED : { state: 'failed', told: 'stopped', detail: failureOf(error).message };
  }
  if (end === 'renew') return await continueAsNew<typeof shipment>({ ...input, carried: carriedBy(run) });
  const concluding = end;
  return await CancellationScope.nonCancellable(() => conclude(run, concluding));
}

const STOPPED: End = { state: 'stopped', told: 'stopped' };

/** Registers the signals and queries. Call it before the first await. */
function listen(run: ShipmentRun): void {
  // the store has the answer; a signal only says that there is one
  setHandler(defineSignal(arrivalSignal), () => {
    run.woken = true;
  });
  setHandler(defineSignal<['stop']>(orderedSignal), () => {
    run.stopped = true;
  });
  setHandler(defineQuery<ShipmentView>(viewQuery), () => run.view);
  setHandler(defineQuery<string[], [string[]]>(holdsQuery), (ids) =>
    ids.filter((id) => id === run.question?.id || (id === 'stop' && run.stopped)),
  );
  setDefaultSignalHandler((name) => log.warn('a signal that this version does not know was dropped', { name }));
}

/** Makes the branch and the pull request. Returns how it ends where they cannot be made. */
async function open(run: ShipmentRun): Promise<End | null> {
  const { memory, input } = run;
  if (memory.head === null) {
    const opened = await onItsHost(run, (host) => host.openShipment({ shipmentId: input.shipmentId }));
    if ('problem' in opened) return { state: 'failed', told: 'not opened', detail: opened.problem };
    noteHead(run, opened.head);
    await tell(run, 'opened', 'opened');
  }
  await show(run, run.question ? 'waiting' : 'watching', 'watches the pull request');
  const pass = input.carried?.pass;
  if (pass !== undefined) await resumePass(run, pass);
  return null;
}

async function watch(run: ShipmentRun): Promise<End | 'renew'> {
  const { input, memory, begunAt } = run;
  const { shipmentId, limits } = input;
  for (;;) {
    run.woken = false;
    const stopped = await shipmentRecords.isStopped.executeWithOptions({ summary: 'is it still wanted?' }, [
      { shipmentId },
    ]);
    if (stopped || run.stopped) return STOPPED;
    if (Date.now() - begunAt > limits.watchMs) return { state: 'stopped', told: 'watched long enough' };
    if (isRenewable(run)) return 'renew';
    const look = await server.lookAtShipment.executeWithOptions({ summary: 'look at the pull request' }, [
      { shipmentId },
    ]);
    if ('unseen' in look) {
      await rest(run, await unseen(run, look));
      continue;
    }
    await seen(run, look);
    if (look.state !== 'open') return { state: look.state, told: look.state };
    if ((await hear(run, look)) || (await act(run, look))) continue;
    await rest(run, pauseAfter(look, memory, Date.now(), limits));
  }
}

/** Sleeps until the next look, or until somebody says something. */
async function rest(run: ShipmentRun, ms: number): Promise<void> {
  const until = Math.min(ms, untilDue(run));
  await condition(() => run.woken || run.stopped, until, { summary: 'the next look' });
}

/** The server shows nothing. A refused token is told once. Returns the time to the next look. */
async function unseen(run: ShipmentRun, { unseen: why, until }: Unseen): Promise<number> {
  const { memory, input } = run;
  if (why === 'token') {
    memory.blindSince ??= Date.now();
    await tell(run, `token ${memory.blindSince}`, 'token');
  }
  await show(run, run.view.state, `cannot look now: ${why}`);
  return pauseUnseen(until, Date.now(), input.limits.longestLookMs);
}

async function seen(run: ShipmentRun, look: Look): Promise<void> {
  const { memory } = run;
  if (memory.blindSince !== null) {
    await tell(run, `token again ${memory.blindSince}`, 'token again');
    memory.blindSince = null;
  }
  // the base may conflict with the same commit once more, later
  if (!look.conflicts) delete memory.tries[conflictKey(look)];
  const now = seenOf(look);
  if (now === memory.seen) return;
  memory.seen = now;
  memory.changedAt = Date.now();
}

/** Does what comes next. True when the pull request is looked at again at once. */
async function act(run: ShipmentRun, look: Look): Promise<boolean> {
  const { memory, input } = run;
  // a question about a merge waits beside everything else; any other one is about what comes next
  if (run.question && run.question.about !== 'merge') return false;
  if (memory.toPush !== null && look.head === memory.head) {
    await pushPass(run, memory.toPush, look);
    return memory.toPush === null;
  }
  const { wanted } = run;
  if (wanted) {
    run.wanted = null;
    return await runPass(run, { ...wanted, look });
  }
  const next = nextOf({ memory, look, rule: input.rule, now: Date.now() });
  if (next.do === 'ask' || next.do === 'pass' || next.do === 'rebase') await withdraw(run);
  switch (next.do) {
    case 'ask':
      await ask(run, { ...next, ...detailOf(run, next.about, look) });
      return run.woken;
    case 'rebase':
      await rebase(run, next.key, look);
      return true;
    case 'pass':
      return await runPass(run, { causes: next.causes, look });
    case 'merge':
      if (memory.told.includes(`not merged ${look.head}`)) return false;
      await merge(run, look.head);
      return run.woken;
    case 'offer':
      await offer(run, look, next.green);
      return false;
    case 'tell':
      await tell(run, `${next.what} ${look.head}`, next.what);
      return false;
    default:
      return false;
  }
}

function detailOf({ memory }: ShipmentRun, about: string, look: Look): { detail?: string } {
  if (about === 'moved') return { detail: look.head.slice(0, 12) };
  if (about === 'passes') return { detail: String(memory.passes) };
  if (about === 'money') return { detail: `$${(memory.spentMicroUsd / 1_000_000).toFixed(2)}` };
  return {};
}

/** Puts the commits on top of the base. What git alone cannot do is work for an agent. */
async function rebase(run: ShipmentRun, key: string, look: Look): Promise<void> {
  const { memory, input } = run;
  memory.tries[key] = REBASE_TRIED;
  const done = await onItsHost(run, (host) => host.rebaseShipment({ shipmentId: input.shipmentId }));
  if ('problem' in done) {
    await tell(run, `not rebased ${look.head}`, 'not pushed', done.problem);
    return;
  }
  if (done.what === 'conflict') memory.tries[key] = NEEDS_AGENT;
  if (done.what !== 'done') return;
  noteHead(run, done.head);
  await tell(run, `rebased ${done.head}`, 'rebased');
}

/** Asks once for each commit whether it shall be merged. */
async function offer(run: ShipmentRun, look: Look, green: boolean): Promise<void> {
  // after each pass there is something new to decide by
  const key = `merge ${look.head} ${run.memory.passes}`;
  if (run.question || run.memory.told.includes(key)) return;
  run.memory.told = [...run.memory.told, key].slice(-50);
  const checks = green ? 'Every check has passed' : 'No check has run for it';
  const reviews = {
    none: 'nobody has reviewed it',
    approved: 'a reviewer has approved it',
    'changes requested': 'a reviewer wants changes',
  };
  await ask(run, { about: 'merge', key, causes: [], detail: `${checks}, and ${reviews[look.review]}.` });
}

async function conclude(run: ShipmentRun, { state, told, detail }: End): Promise<ShipmentState> {
  const { shipmentId } = run.input;
  await withdraw(run);
  await tell(run, 'end', told, detail);
  await shipmentRecords.setShipmentState.executeWithOptions({ summary: `it ends: ${state}` }, [
    { shipmentId, state, ended: told },
  ]);
  await tidyOn(run.input.host)
    .tidyShipment({ shipmentId })
    .catch((error) => log.warn('branches were left in the workspace', { error: failureOf(error).message }));
  await run.sending;
  return state;
}
