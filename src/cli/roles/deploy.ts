import { setTimeout as pause } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type Deployment, WorkerDeployment } from '../../../temporal/deployment.ts';
import type { Config } from '../../config.ts';
import { AGENT_QUEUE, BACKGROUND_QUEUE } from '../../contracts/ids.ts';
import { CONVERSATION, wakeSignal } from '../../contracts/signals.ts';
import { UserError } from '../../contracts/user-error.ts';
import { startAllOver, startPatchedOver } from '../../gateway/intake/reconcile/start-over.ts';
import { readPayloadKeys } from '../instance/home/payload-keys.ts';
import { connectTemporal } from './connect.ts';

/** `fetch deploy`: which build of the worker does the work. Each command reports the resulting state. */

/**
 * Woken conversations appear in the next list a moment later; those with a running turn take longer than this waits.
 */
const WAKING_MS = 15_000;

async function onDeployment<T>(
  config: Config,
  act: (deployment: WorkerDeployment, temporal: Client) => Promise<T>,
): Promise<T> {
  const { temporal, close } = await connectTemporal(config);
  try {
    return await act(new WorkerDeployment(temporal, AGENT_QUEUE), temporal);
  } finally {
    await close();
  }
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const runs = (count: number): string => `${count} ${count === 1 ? 'run' : 'runs'}`;

export const status = (config: Config, { json }: { json?: boolean }): Promise<void> =>
  onDeployment(config, async (deployment) => {
    const found = await deployment.read();
    say(json ? JSON.stringify(found, null, 2) : statusText(found));
  });

export function statusText({ builds, rampPercent, unversionedWorkers }: Deployment): string {
  const lines = builds.map(({ id, role, workers, pinned, open }) => {
    const share = role === 'ramping' ? ` (${rampPercent} % of new runs)` : '';
    const stop = role === 'old' && pinned === 0 && workers > 0 ? ' Its workers may be stopped.' : '';
    return `${id}: ${role}${share}, ${workers} asking for work, ${runs(open)} open, ${pinned} of them only for this build.${stop}`;
  });
  if (!builds.some((build) => build.role === 'current'))
    lines.push('No build is current: workers without a build do the work.');
  if (unversionedWorkers > 0) lines.push(`Without a build: ${unversionedWorkers} asking for work.`);
  return lines.join('\n');
}

export const current = (config: Config, build: string): Promise<void> =>
  onDeployment(config, async (deployment) => {
    await deployment.setCurrent(build);
    say(`Build ${build} is current: new runs go to it, and each conversation from its next step on.`);
    sayWhatRemains(await deployment.read());
  });

export const ramp = (config: Config, build: string, percent: number): Promise<void> =>
  onDeployment(config, async (deployment) => {
    await deployment.setRamp(build, percent);
    say(
      `Build ${build} gets ${percent} % of new runs and of the conversations. Give it everything: fetch deploy current ${build}. Take it back: fetch deploy ramp ${build} 0`,
    );
  });

/** True while runs need the build. */
export const drain = (config: Config, build: string, { move }: { move?: boolean }): Promise<boolean> =>
  onDeployment(config, async (deployment, temporal) => {
    const of = async () => known(await deployment.read(), build);
    const found = await of();
    if (found.role !== 'old')
      throw new UserError(
        `Build ${build} is ${found.role}. Make another one current first: fetch deploy current <build>`,
      );
    await wake(deployment, temporal, build);
    if (move) say(`Moved to the current build: ${runs(await deployment.move(build))}.`);
    const { pinned } = await of();
    if (pinned > 0) {
      say(
        `Only build ${build} may continue ${runs(pinned)}. Keep its workers, or let the current build continue them: fetch deploy drain ${build} --move`,
      );
    } else say(`No run needs build ${build}: its workers may be stopped.`);
    return pinned > 0;
  });

/** Wakes a chat that sleeps on an old build, so that it moves to the current one now and not at its next message. */
async function wake(deployment: WorkerDeployment, temporal: Client, build: string): Promise<void> {
  let woken = 0;
  for await (const { workflowId } of deployment.pinnedRuns(build, CONVERSATION)) {
    // it may have continued by itself
    await temporal.workflow
      .getHandle(workflowId)
      .signal(wakeSignal)
      .then(
        () => {
          woken += 1;
        },
        (error) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        },
      );
  }
  if (woken === 0) return;
  say(
    `Woke ${woken} sleeping ${woken === 1 ? 'conversation' : 'conversations'}: each goes on with the current build once no turn of it runs.`,
  );
  const end = Date.now() + WAKING_MS;
  for (let left = woken; left > 0 && Date.now() < end; await pause(1_000)) {
    left = 0;
    for await (const _ of deployment.pinnedRuns(build, CONVERSATION)) left += 1;
  }
}

/** Older code cannot continue a run that did something new: such a run starts again from the records. */
export const rollback = (config: Config, build: string): Promise<void> =>
  onDeployment(config, async (deployment, temporal) => {
    const before = (await deployment.read()).builds.filter(({ id, role }) => role !== 'old' && id !== build);
    await deployment.setCurrent(build);
    say(`Build ${build} is current again.`);
    const { builds } = await new WorkerDeployment(temporal, BACKGROUND_QUEUE).read();
    const oneQueue = !builds.some(({ id, workers }) => id === build && workers > 0);
    const ended = await startPatchedOver(temporal, `rolled back to build ${build}: begins again from the records`, {
      oneQueue,
    });
    let moved = 0;
    for (const { id } of before) moved += await deployment.move(id);
    say(`Begun again from the records within a minute: ${runs(ended)}. Moved from the newer build: ${runs(moved)}.`);
    sayWhatRemains(await deployment.read());
  });

export const off = (config: Config): Promise<void> =>
  onDeployment(config, async (deployment) => {
    await deployment.setUnversioned();
    for (const { id } of (await deployment.read()).builds) await deployment.move(id);
    say('Workers without a build do the work.');
  });

/** For workers without a build, before an older release of them starts. `all`: it cannot read what is encrypted. */
export const startOver = (config: Config, { all }: { all?: boolean }): Promise<void> =>
  onDeployment(config, async (_deployment, temporal) => {
    if (all && readPayloadKeys(config).encrypts)
      throw new UserError('New payloads would be encrypted again. Set FETCH_PAYLOAD_KEYS=off for every role first.');
    const reason = 'an older release is about to start: begins again from the records';
    const ended = await (all ? startAllOver(temporal, reason) : startPatchedOver(temporal, reason, { oneQueue: true }));
    say(
      `Ended ${runs(ended)} that an older release could not continue. The gateway begins them again from PostgreSQL within a minute.`,
    );
  });

function sayWhatRemains({ builds }: Deployment): void {
  for (const { id, pinned, role } of builds)
    if (role === 'old' && pinned > 0)
      say(
        `Build ${id} still has ${runs(pinned)} that only it may continue: keep its workers until fetch deploy drain ${id} says so.`,
      );
}

function known({ builds }: Deployment, id: string): Deployment['builds'][number] {
  const build = builds.find((each) => each.id === id);
  if (build) return build;
  const names = builds.map((each) => each.id).join(', ');
  throw new UserError(
    `There is no build ${id}. ${names ? `Known are: ${names}` : 'No worker with a FETCH_BUILD_ID has ever run here.'}`,
  );
}
