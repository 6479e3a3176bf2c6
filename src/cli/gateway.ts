import { NativeConnection, Worker } from '@temporalio/worker';
import { createDeliver } from '../activities/deliver.ts';
import type { Config } from '../config.ts';
import { gatewayQueue } from '../contracts/ids.ts';
import { screenChannel } from '../gateway/channel.ts';
import { sweep } from '../gateway/sweeper.ts';
import { openRole } from './connect.ts';
import { roleProcess } from './role-process.ts';
import { installRuntime, workerTimings } from './temporal-runtime.ts';

/** The role that holds the channels: sends what conversations produced, and signals again what a crash left unsignalled. */
export async function run(config: Config): Promise<void> {
  const role = roleProcess();
  installRuntime(config);
  const { store, temporal, address, close } = await openRole(config, 'fetch-gateway', 5);
  const connection = await NativeConnection.connect({ address });
  const channels = [screenChannel('console'), screenChannel('api')];
  const workers = await Promise.all(
    channels.map((channel) =>
      Worker.create({
        connection,
        namespace: config.TEMPORAL_NAMESPACE,
        taskQueue: gatewayQueue(channel.name),
        activities: { deliver: createDeliver({ db: store.db, channel }) },
        ...workerTimings,
        maxConcurrentActivityTaskExecutions: 20,
      }),
    ),
  );
  const stopSweeping = sweep({ db: store.db, temporal, config });
  role.onStop(async () => {
    stopSweeping();
    for (const worker of workers) worker.shutdown();
  });
  const running = workers.map((worker) => worker.run());
  role.ready(channels.map((channel) => channel.name).join(', '));
  await Promise.all(running);
  await connection.close();
  await close();
}
