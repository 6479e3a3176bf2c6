import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { ComposedServer, serverPorts } from '../../compose/server.ts';
import { IMAGE, provideImages } from '../../compose/stand-ins.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';
import { startBare } from '../bare.ts';
import { printTable } from '../figures.ts';
import { Crowd } from './crowd.ts';
import { bareAtOnce, chatsAtOnce, workersAtOnce } from './load.ts';
import { measure, sizes, usageOf } from './usage.ts';

/**
 * What a server holds: docker-compose.yml on this machine, as tests/compose runs it, with the practice model. Most
 * chats sleep on a question, some are awake. The bare workflow runs on the same Temporal server, from outside of the
 * containers.
 */
const { values } = parseArgs({
  options: {
    asleep: { type: 'string', default: '10000' },
    awake: { type: 'string', default: '1000' },
    help: { type: 'boolean', default: false },
  },
});
const asleep = Number(values.asleep);
const awake = Number(values.awake);
if (values.help || !(asleep > 0) || !(awake > 0)) {
  console.log(
    'npm run bench-server -- [--asleep 10000] [--awake 1000]\n\nNeeds a Docker engine. The first time it builds programs and images for some minutes.',
  );
  process.exit(values.help ? 0 : 2);
}

const program = await provideImages();
const server = new ComposedServer(program, IMAGE, await serverPorts());
const model = await startScriptedModel({ skim: true });
try {
  await server.up();
  const crowd = new Crowd(server);
  const address = `${await server.addressOf('temporal')}:7233`;
  const connection = await Connection.connect({ address });
  const bare = await startBare(new Client({ connection }), address, model.baseUrl);
  await crowd.fallAsleep(20);

  const before = { usage: await usageOf(server), sizes: await sizes(server) };
  const filling = await measure(server, () => crowd.fallAsleep(asleep));
  await crowd.settle();
  const after = { usage: await usageOf(server), sizes: await sizes(server) };
  printTable(`${asleep} chats fell asleep on a question, ${filling.perSecond(asleep)} a second`, [
    ...Object.keys(after.usage).map((service) => ({
      service,
      'before MB': before.usage[service]!.memoryMb,
      'asleep MB': after.usage[service]!.memoryMb,
      'CPU ms a chat': filling.cpuMsOf(service, asleep),
    })),
  ]);
  printTable('What a sleeping chat takes on disk', [
    ...Object.keys(after.sizes).map((database) => ({
      database,
      'KB a chat': Math.round((after.sizes[database]!.bytes - before.sizes[database]!.bytes) / asleep / 102.4) / 10,
      'rows a chat': Math.round(((after.sizes[database]!.rows - before.sizes[database]!.rows) / asleep) * 10) / 10,
    })),
  ]);

  printTable('One is woken', await crowd.wakeSome(20));
  printTable('While everything sleeps', [await crowd.idle(60_000)]);
  const threads = await crowd.rise(awake);
  printTable(`${awake} chats at once, one tool call a turn`, [
    await chatsAtOnce(server, crowd, threads),
    await bareAtOnce(server, bare, awake),
  ]);
  printTable('Workers with a third of a core each', await workersAtOnce(server, crowd, threads));

  await bare.close();
  await connection.close();
} finally {
  await model.close();
  await server.remove();
}
