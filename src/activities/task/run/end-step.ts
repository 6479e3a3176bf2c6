import { setTimeout as pause } from 'node:timers/promises';
import { runFolder } from '../../../adapters/kennel/run-folders.ts';
import type { Task } from '../../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../../activity-deps.ts';
import { sendCommand } from './folder.ts';

/** How long an agent that was told to stop may take; then its container is killed. */
const LEAVE_MS = 2_000;

/** Tells the agent to stop, unless its container is to be killed, and checks that the container is gone. */
export async function endStep(
  { config, kennel }: Pick<KennelDeps, 'config' | 'kennel'>,
  task: Task,
  step: number,
  kills = false,
): Promise<void> {
  const container = kills ? null : await kennel.inspect(task.id, step);
  if (container && container.state !== 'exited') {
    // a frozen process receives nothing
    if (container.state === 'paused') await kennel.setPaused(task.id, step, false);
    await sendCommand(runFolder(config, task.id), { id: `${task.id}_end_${step}`, step, type: 'cancel' });
    const patience = Date.now() + LEAVE_MS;
    while (Date.now() < patience && (await kennel.inspect(task.id, step))?.state === 'running') await pause(25);
  }
  await kennel.remove(task.id, step);
}
