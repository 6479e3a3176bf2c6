import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { request } from 'undici';

// a process of its own, as our worker is one: sharing one with the measuring client would favour it
const { values } = parseArgs({
  options: { address: { type: 'string' }, queue: { type: 'string' }, model: { type: 'string' } },
});
const logger = new DefaultLogger('WARN');
Runtime.install({ logger });

/** A model request and nothing around it: bytes out, bytes in. */
async function ask({ id, bytes }: { id: string; bytes: number }): Promise<{ id: string }> {
  const system = { role: 'system', content: 'x'.repeat(Math.max(0, bytes - 200)) };
  const body = JSON.stringify({
    model: 'bare',
    messages: [system, { role: 'user', content: 'SCRIPT:[{"say":"done"}]' }],
    stream: true,
  });
  const answer = await request(`${values.model}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  await answer.body.text();
  return { id };
}

const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: values.address }),
  taskQueue: values.queue!,
  workflowBundle: await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./bare-workflow.ts', import.meta.url)),
    logger,
  }),
  activities: { nothing: async (input: unknown) => input, ask },
  maxConcurrentActivityTaskExecutions: 100,
  maxCachedWorkflows: 1000,
});
const running = worker.run();
process.once('SIGTERM', () => worker.shutdown());
process.send?.('ready');
await running;
process.exit(0);
