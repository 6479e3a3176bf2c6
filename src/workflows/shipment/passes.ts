import { condition, patched } from '@temporalio/workflow';
import type { Look, PassCause } from '../../contracts/shipment.ts';
import { keyOf, MOVED_ON } from '../../domain/shipping/next.ts';
import { MINUTE } from '../../domain/time.ts';
import { startTask } from '../shared/start-task.ts';
import { shipmentRecords, watch } from './policies.ts';
import { ask, drop, wait } from './questions.ts';
import { noteHead, onItsHost, type ShipmentRun, show, tell } from './shipment-run.ts';

/** A pass: a coding agent works on a pull request once, and what it has made is offered and pushed. */

interface Pass {
  causes: PassCause[];
  look: Pick<Look, 'failures'>;
  /** the question whose answer says how to go on */
  answered?: string;
}

/** False when the pass could not begin: the next look tries again, because an agent or a token may be missing. */
export async function runPass(run: ShipmentRun, { causes, look, answered }: Pass): Promise<boolean> {
  const { memory, input } = run;
  const { shipmentId } = input;
  const pass = memory.passes + 1;
  const begun = await watch.beginPass.executeWithOptions({ summary: `pass ${pass}: ${causes.join(', ')}` }, [
    { shipmentId, pass, causes, ...(answered !== undefined && { answered }) },
  ]);
  if ('problem' in begun) {
    await tell(run, `not begun ${pass}`, 'no agent', begun.problem);
    return false;
  }
  memory.passes = pass;
  memory.outside = false;
  for (const cause of causes) memory.tries[keyOf([cause], look)] = (memory.tries[keyOf([cause], look)] ?? 0) + 1;
  await show(run, 'working', `pass ${pass}: ${causes.join(', ')}`);
  await tell(run, `working ${pass}`, 'working', causes.map((cause) => CAUSES[cause]).join(', '));
  const child = await startTask(begun.task);
  await endOfTask(run, pass, child?.result());
  if (!run.stopped) await finishPass(run, pass, { causes, look });
  if (!run.question) await show(run, 'watching', 'watches the pull request');
  return true;
}

const CAUSES: Record<PassCause, string> = {
  checks: 'Checks have failed',
  remarks: 'There are remarks',
  conflict: 'There is a conflict',
  answer: 'As you said',
};

/** Its workflow tells the end at once, as a child; one that runs elsewhere is looked at. */
const LONGEST_LOOK_MS = 5 * MINUTE;

async function endOfTask(run: ShipmentRun, pass: number, result: Promise<unknown> | undefined): Promise<void> {
  let told = false;
  const tells = () => {
    told = true;
  };
  result?.then(tells, tells);
  for (let looks = 0; !run.stopped; looks += 1) {
    const before = told;
    const ms = result && !told ? LONGEST_LOOK_MS : Math.min(5_000 * 2 ** looks, LONGEST_LOOK_MS);
    await condition(() => told !== before || run.stopped, ms, { summary: `the end of pass ${pass}` });
    const end = await shipmentRecords.endOfPass.executeWithOptions({ summary: `look for the end of pass ${pass}` }, [
      { shipmentId: run.input.shipmentId, pass },
    ]);
    run.memory.spentMicroUsd = end.spentMicroUsd;
    if (end.over) return;
  }
}

/** Goes on with a pass whose workflow was lost: its task, and what it has made, are in the store. */
export async function resumePass(run: ShipmentRun, pass: number): Promise<void> {
  await endOfTask(run, pass, undefined);
  if (!run.stopped) await finishPass(run, pass, { causes: ['checks'], look: { failures: '' } });
}

/** Offers what a pass has made. A second call for the same pass finds the question of the first. */
async function finishPass(run: ShipmentRun, pass: number, { causes, look }: Omit<Pass, 'answered'>): Promise<void> {
  const { memory, input } = run;
  const { shipmentId } = input;
  const end = await shipmentRecords.endOfPass.executeWithOptions({ summary: `the end of pass ${pass}` }, [
    { shipmentId, pass },
  ]);
  memory.spentMicroUsd = end.spentMicroUsd;
  const work = causes.filter((cause) => cause !== 'answer');
  if (!end.ok) return await ask(run, { about: 'stuck', key: `stuck ${pass}`, causes: work, pass });
  const offered = await onItsHost(run, (host) => host.offerPass({ shipmentId, pass }));
  if (offered.what === 'allowed') memory.toPush = pass;
  else if (offered.what === 'asked')
    await wait(
      run,
      { id: offered.questionId, about: 'push', key: `push ${pass}`, causes: work, pass },
      offered.decided === undefined ? offered.outboxId : null,
    );
  else if (work.some((cause) => cause !== 'remarks'))
    await ask(run, { about: 'stuck', key: `stuck ${pass}`, causes: work, pass });
  else await drop(run, pass, work, look);
}

/** Versions of this code by which histories are told apart. */
const PASS_AGAIN = '2026-11-pass-is-made-again';
const PUSH_TOLD_ONCE = '2026-11-failed-push-is-told-once';

/** So often a push is tried. */
const MOST_PUSHES = 3;

/** Pushes what the person has agreed to. */
export async function pushPass(run: ShipmentRun, pass: number, look: Look): Promise<void> {
  const { memory, input } = run;
  await show(run, 'watching', `pushes what pass ${pass} has made`);
  const pushed = await onItsHost(run, (host) => host.pushPass({ shipmentId: input.shipmentId, pass }));
  if ('problem' in pushed) {
    memory.pushTries += 1;
    const isTold = memory.told.includes(`not pushed ${pass} 1`);
    if (!isTold || !patched(PUSH_TOLD_ONCE))
      await tell(run, `not pushed ${pass} ${memory.pushTries}`, 'not pushed', pushed.problem);
    if (pushed.problem === MOVED_ON && patched(PASS_AGAIN)) run.woken = true;
    else if (memory.pushTries < MOST_PUSHES) return;
    else await drop(run, pass, ['checks', 'conflict'], look);
  } else {
    noteHead(run, pushed.head);
    await tell(run, `pushed ${pass}`, 'pushed');
    run.woken = true;
  }
  memory.toPush = null;
  memory.pushTries = 0;
}
