import { setTimeout as pause } from 'node:timers/promises';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createDeliver } from '../../activities/deliver.ts';
import { type ChannelSender, screenChannel } from '../../channels/channel.ts';
import type { OnChannel } from '../../channels/whatsapp/assembly.ts';
import { ACCOUNT, startWhatsApp } from '../../channels/whatsapp/whatsapp.ts';
import type { Config } from '../../config.ts';
import { gatewayQueue } from '../../contracts/ids.ts';
import { createIntake } from '../../intake/intake.ts';
import { sweep } from '../../intake/sweeper.ts';
import { createLog } from '../../log.ts';
import { ensureSecret } from '../instance/tokens.ts';
import { openRole } from './connect.ts';
import { leaseHolder } from './lease-holder.ts';
import { roleProcess } from './role-process.ts';
import { drained, graceMs, installRuntime, runToEnd, workerTimings } from './temporal-runtime.ts';

/** A WhatsApp server that does not answer must not hold a stop up. */
const STOP_MS = 1_200;

/** The role that holds the channels: sends what conversations produced, receives from WhatsApp, and signals again what a crash left unsignalled. */
export async function run(config: Config): Promise<void> {
  const role = roleProcess(graceMs(config));
  installRuntime(config);
  const { store, temporal, endpoint, close } = await openRole(config, 'fetch-gateway', 12);
  const connection = await NativeConnection.connect(endpoint);
  const log = createLog('whatsapp', config.LOG_LEVEL);
  const screens = [screenChannel('console'), screenChannel('api')];

  const workerOf = (channel: ChannelSender): Promise<Worker> =>
    Worker.create({
      connection,
      namespace: config.TEMPORAL_NAMESPACE,
      taskQueue: gatewayQueue(channel.name),
      activities: { deliver: createDeliver({ db: store.db, channel }) },
      ...workerTimings(config),
      maxConcurrentActivityTaskExecutions: 20,
    });
  const workers = await Promise.all(screens.map(workerOf));

  /** Polls the queue of WhatsApp only while there is a connection: until then its replies wait there, and lose nothing. */
  const whileOpen: OnChannel = (channel) => () => {
    const running = workerOf(channel).then((worker) => {
      const ended = runToEnd(worker).catch((error: Error) => log.error({ reason: error.message }, 'the worker of the WhatsApp queue failed'));
      return { worker, ended };
    });
    running.catch((error: Error) => log.error({ reason: error.message }, 'the WhatsApp queue cannot be served'));
    return async () => {
      const { worker, ended } = await running;
      await drained([worker], [ended]);
    };
  };

  const intake = createIntake({ db: store.db, temporal, config, secret: ensureSecret(config.FETCH_HOME, 'chat-key') });
  const whatsapp = startWhatsApp({
    db: store.db,
    config,
    log,
    account: ACCOUNT,
    intake,
    holder: await leaseHolder(),
    encryptionKey: () => config.FETCH_ENCRYPTION_KEY ?? ensureSecret(config.FETCH_HOME, 'encryption-key'),
    onChannel: whileOpen,
    exit(reason) {
      log.fatal({ reason }, 'ending this process, so that a sound one takes its place');
      process.exit(1);
    },
  });
  const stopSweeping = sweep({ db: store.db, temporal, config });
  const running = workers.map(runToEnd);
  role.onStop(async () => {
    stopSweeping();
    // the socket and the lease come first; a send that takes longer is done again by the next gateway, under the same id
    await Promise.race([whatsapp.stop(), pause(STOP_MS)]);
    await drained(workers, running);
    await connection.close();
    await close();
  });
  role.ready('console, api, whatsapp');
  await Promise.all(running);
}
