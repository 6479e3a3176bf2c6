import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import type { BareInput } from './bare-workflow.ts';
import { historyCost } from './history.ts';

export interface Bare {
  /** of its worker process */
  pid: number;
  /** runs one workflow of so many activities to its end; milliseconds from the call to the result */
  run(activities: number, requests?: BareInput['requests']): Promise<number>;
  /** history of one run of so many activities */
  cost(activities: number): Promise<{ events: number; bytes: number }>;
  close(): Promise<void>;
}

const QUEUE = 'bench-bare';

/** The bare workflow that our turns are measured against: same Temporal server, own task queue, own worker process. */
export async function startBare(temporal: Client, address: string, modelUrl: string): Promise<Bare> {
  const child = fork(fileURLToPath(new URL('./bare-worker.ts', import.meta.url)), [
    '--address',
    address,
    '--queue',
    QUEUE,
    '--model',
    modelUrl,
  ]);
  await once(child, 'message');
  let count = 0;
  const execute = async (activities: number, requests?: BareInput['requests']): Promise<string> => {
    const workflowId = `bench/bare/${process.pid}-${++count}`;
    await temporal.workflow.execute('bare', {
      workflowId,
      taskQueue: QUEUE,
      args: [{ id: workflowId, activities, requests }],
    });
    return workflowId;
  };
  return {
    pid: child.pid!,
    async run(activities, requests) {
      const begun = performance.now();
      await execute(activities, requests);
      return performance.now() - begun;
    },
    cost: async (activities) => historyCost(temporal, await execute(activities)),
    async close() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
