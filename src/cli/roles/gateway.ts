import { Worker } from '@temporalio/worker';
import { gatewayActivities } from '../../activities/queues.ts';
import { gatewayQueue } from '../../contracts/ids.ts';
import type { ChannelDriver, Gateway, Serving } from '../../gateway/channels/channel.ts';
import { CHANNEL_DRIVERS } from '../../gateway/channels/registry.ts';
import { createIntake } from '../../gateway/intake/intake.ts';
import { sweep } from '../../gateway/intake/reconcile/sweeper.ts';
import { createLog } from '../../log.ts';
import { ensureSecret } from '../instance/home/home.ts';
import { leaseHolder } from './process/lease-holder.ts';
import type { RoleContext } from './process/role-context.ts';
import { activityTraces } from './temporal/activity-traces.ts';
import { drained, runToEnd, workerTimings } from './temporal/temporal-runtime.ts';

/**
 * The role that holds the channels: sends what conversations produced, takes in what people write, and signals again
 * what a crash left unsignalled.
 */
export async function run({ config, role, store, temporal, native, converter }: RoleContext): Promise<void> {
  const intake = createIntake({ db: store.db, temporal, config, secret: ensureSecret(config.FETCH_HOME, 'chat-key') });
  const holder = await leaseHolder();

  const start = (driver: ChannelDriver) => {
    const log = createLog(driver.name, config.LOG_LEVEL);
    const gateway: Gateway = {
      db: store.db,
      config,
      log,
      intake,
      holder,
      encryptionKey: () => config.FETCH_ENCRYPTION_KEY ?? ensureSecret(config.FETCH_HOME, 'encryption-key'),
      async serve(sender): Promise<Serving> {
        const worker = await Worker.create({
          connection: native,
          namespace: config.TEMPORAL_NAMESPACE,
          dataConverter: converter,
          taskQueue: gatewayQueue(driver.name),
          activities: await gatewayActivities({ db: store.db, sender, config }),
          ...workerTimings(config),
          ...activityTraces(store.db),
          maxConcurrentActivityTaskExecutions: 20,
        });
        const ended = runToEnd(worker);
        return { ended, drain: () => drained([worker], [ended]) };
      },
      exit(reason) {
        log.fatal({ reason }, 'ending this process, so that a sound one takes its place');
        process.exit(1);
      },
    };
    return driver.start(gateway);
  };

  const drivers: ChannelDriver[] = Object.values(CHANNEL_DRIVERS);
  const channels = await Promise.all(drivers.map(start));
  const stopSweeping = sweep({ db: store.db, temporal, config });
  role.onStop(async () => {
    stopSweeping();
    await Promise.all(channels.map((channel) => channel.stop()));
  });
  role.ready(drivers.map(({ name }) => name).join(', '));
  await Promise.all(channels.map(({ ended }) => ended));
}
