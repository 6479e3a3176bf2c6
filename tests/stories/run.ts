import { Connection } from '@temporalio/client';
import { audit, settled } from '../chaos/audit.ts';
import { seeded } from '../chaos/random.ts';
import { engineOf } from '../chaos/tasks-killer.ts';
import { clientOf } from '../support/temporal-client.ts';
import { until } from '../support/until.ts';
import { type Kills, killsOf } from './kills.ts';
import type { Story, World } from './story.ts';
import { startWorld } from './world.ts';

export interface Told {
  steps: number;
  killed: Kills['killed'];
  lost: string[];
  doubled: string[];
  stuck: string[];
  /** model steps that were asked for again, because their answer was not stored at a kill */
  askedAgain: number;
  seconds: number;
}

/** Tells a story: as it is, or with every role killed between every two steps. */
export async function runStory(
  story: Story,
  { kills = false, seed = 1 }: { kills?: boolean; seed?: number } = {},
): Promise<Told> {
  const world = await startWorld({ FETCH_SEPARATE_PROCESSES: String(seed % 2 === 1), ...story.settings });
  try {
    const begun = Date.now();
    const killer = killsOf(world.app, seeded(seed));
    const steps = story.tell(world);
    for (const [at, { sentence, act, killAtOnce }] of steps.entries()) {
      await act().catch((error: Error) => {
        throw new Error(`step ${at + 1}, "${sentence}": ${error.message}`, { cause: error });
      });
      if (kills && at < steps.length - 1) await killer.strike(killAtOnce === true);
    }
    await world.app.whenReady();
    await settled(world.app.store.db);
    await story.end(world);
    const findings = await findingsOf(world);
    return {
      ...findings,
      steps: steps.length,
      killed: killer.killed,
      seconds: Math.round((Date.now() - begun) / 1000),
    };
  } finally {
    await world.close();
  }
}

/**
 * What holds at the end of every story: each message at the phone belongs to one sentence, nothing is left half done.
 */
async function findingsOf(world: World): Promise<Pick<Told, 'lost' | 'doubled' | 'stuck' | 'askedAgain'>> {
  const { app, ann, fixture } = world;
  const { lost, doubled, stuck, askedAgain } = await audit(app.store.db, [], app.model.requests());
  for (const { shown } of ann.unclaimed()) doubled.push(`the phone shows one more: ${shown.text}`);
  for (const { id, error } of fixture.ledger.undecryptable) lost.push(`${id} could not be read: ${error}`);
  if (fixture.devices.length !== 1) doubled.push(`${fixture.devices.length} devices are linked`);
  for (const row of await app.store.db
    .selectFrom('wa_inbox')
    .select('message_id')
    .where('handled_at', 'is', null)
    .execute())
    lost.push(`${row.message_id} was never handled`);
  await until('the host has tidied up', async () => (await engineOf(app).left()).length === 0, 30_000).catch(
    () => null,
  );
  for (const { name } of await engineOf(app).left()) stuck.push(`the container ${name} is left`);
  for (const id of await openWorkflows(app)) stuck.push(`the workflow ${id} is running`);
  return { lost, doubled, stuck, askedAgain };
}

/** Workflows that run, other than chats, which never end. */
async function openWorkflows(app: World['app']): Promise<string[]> {
  const connection = await Connection.connect({ address: app.temporalAddress });
  try {
    const open: string[] = [];
    for await (const { workflowId } of clientOf(app, connection).workflow.list({
      query: 'ExecutionStatus = "Running"',
    }))
      open.push(workflowId);
    return open.filter((id) => !id.startsWith('chat/') && !id.startsWith('temporal-sys-'));
  } finally {
    await connection.close();
  }
}
