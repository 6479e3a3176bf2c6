import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

// a process of its own, as our worker is one: sharing one with the measuring client would favour it
const { values } = parseArgs({ options: { address: { type: 'string' }, queue: { type: 'string' } } });
const logger = new DefaultLogger('WARN');
Runtime.install({ logger });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: values.address }),
  taskQueue: values.queue!,
  workflowBundle: await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL('./bare-workflow.ts', import.meta.url)), logger }),
  activities: { nothing: async (input: unknown) => input },
  maxConcurrentActivityTaskExecutions: 100,
  maxCachedWorkflows: 1000,
});
const running = worker.run();
process.once('SIGTERM', () => worker.shutdown());
process.send?.('ready');
await running;
process.exit(0);
