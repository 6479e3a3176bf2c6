import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildWorkflowBundle, entryOf } from '../../src/cli/roles/temporal/workflow-bundle.ts';
import { startPatchedOver } from '../../src/gateway/intake/reconcile/start-over.ts';
import { findings, goOn, populate, reconcileNow, write } from '../support/deployment-scenes.ts';
import { startReleases } from '../support/releases.ts';
import { releaseBundle } from './frozen.ts';

/**
 * The long form of tests/integration/cli/deployment.test.ts: `npm run deployment-soak -- --chats 1000 --tasks 20 --from
 * 0.1.0`.
 */

const { values } = parseArgs({
  options: {
    chats: { type: 'string', default: '1000' },
    tasks: { type: 'string', default: '20' },
    from: { type: 'string', default: '0.1.0' },
  },
});
const counts = { chats: Number(values.chats), tasks: Number(values.tasks) };
const begun = Date.now();
const say = (text: string): void => console.log(`${Math.round((Date.now() - begun) / 1000)} s: ${text}`);

const previous = await releaseBundle(values.from);
const next = await buildWorkflowBundle(entryOf('unversioned'), [
  fileURLToPath(new URL('./changed/patched.ts', import.meta.url)),
]);
const releases = await startReleases();
say('servers are up');
let failed = 0;
const report = async (title: string, world: Awaited<ReturnType<typeof populate>>, strict: boolean): Promise<void> => {
  const found = await findings(releases, world, strict);
  failed += found.length;
  say(`${title}: ${world.chats.length} chats, ${world.tasks.length} tasks, ${found.length} findings`);
  for (const each of found.slice(0, 20)) console.log(`  - ${each}`);
};
try {
  const old = await releases.worker(previous);
  const world = await populate(releases, counts);
  say(`every state is there, on ${values.from}`);
  await old.stop();
  await write(releases, world);
  const young = await releases.worker(next);
  say('the changed release runs');
  await goOn(releases, world);
  await report('deployed', world, true);
  const second = await populate(releases, counts);
  say('every state is there, on the changed release');
  await young.stop();
  await write(releases, second);
  say(`begun again from the records: ${await startPatchedOver(releases.temporal, 'rolled back', { oneQueue: false })}`);
  const again = await releases.worker(previous);
  await reconcileNow(releases);
  await goOn(releases, second);
  await report('rolled back', second, false);
  await again.stop();
} finally {
  await releases.close();
}
process.exit(failed > 0 ? 1 : 0);
