import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../../adapters/kennel/environment/setup-scripts.ts';
import type { Kennel } from '../../adapters/kennel/kennel.ts';
import type { Config } from '../../config.ts';
import { waitsForHosts } from '../../store/kennel/questions/egress-questions.ts';
import { findTask, isOver } from '../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../activity-deps.ts';

/**
 * Freezes the containers of a host that cannot know whether its tasks still belong to it, and closes their way out.
 * When the host has its lease again, containers of its tasks are thawed, and containers of tasks that moved are
 * removed. Apps and direct commands are frozen meanwhile, too.
 */
interface Fence {
  close(): Promise<void>;
  lift(): Promise<void>;
}

type FenceDeps = Pick<KennelDeps, 'db' | 'config' | 'kennel' | 'gate' | 'host'>;

export function createFence({ db, config, kennel, gate, host }: FenceDeps): Fence {
  // it outlives this process, because nobody else would thaw them
  const record = recordOf(config);
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = turn.catch(() => {}).then(work);
    turn = mine;
    return mine;
  };
  return {
    close: () =>
      inTurn(async () => {
        const running = (await kennel.list()).filter((container) => container.state === 'running');
        const before = await read(record);
        const others = await kennel.runningBesides();
        await write(record, {
          tasks: [...before.tasks, ...running.map(({ taskId }) => taskId)],
          others: [...before.others, ...others],
        });
        await Promise.all([
          ...running.map(({ taskId, step }) => kennel.setPaused(taskId, step, true)),
          kennel.setFrozen(others, true),
        ]);
        await Promise.all(gate.openTasks().map((taskId) => gate.close(taskId)));
      }),
    lift: () =>
      inTurn(async () => {
        const held = await read(record);
        if (held.tasks.length === 0 && held.others.length === 0) return;
        const containers = (await kennel.list()).filter((container) => held.tasks.includes(container.taskId));
        for (const container of containers) await settle(container);
        await kennel.setFrozen(held.others, false);
        await rm(record, { force: true });
      }),
  };

  async function settle({ taskId, step, state }: Awaited<ReturnType<Kennel['list']>>[number]): Promise<void> {
    const task = await findTask(db, taskId);
    if (!task || isOver(task.state) || task.host !== host) await kennel.remove(taskId);
    // a container that a person paused stays paused, and so does one whose programs wait for hosts
    else if (state === 'paused' && task.state !== 'paused' && !(await waitsForHosts(db, taskId)))
      await kennel.setPaused(taskId, step, false);
  }
}

const recordOf = ({ FETCH_HOME, FETCH_KENNEL_HOST }: Config): string =>
  join(FETCH_HOME, 'kennel', `held-${FETCH_KENNEL_HOST}.json`);

/** What a host holds: tasks by id, apps and commands by the name of their container. */
interface Held {
  tasks: string[];
  others: string[];
}

async function read(record: string): Promise<Held> {
  try {
    const held = JSON.parse(await readFile(record, 'utf8')) as Held | string[];
    // an earlier release held only tasks
    return Array.isArray(held) ? { tasks: held, others: [] } : held;
  } catch {
    return { tasks: [], others: [] };
  }
}

const write = (record: string, { tasks, others }: Held): Promise<void> =>
  replaceFile(record, JSON.stringify({ tasks: [...new Set(tasks)], others: [...new Set(others)] }));
