import { shipmentWorkflowId } from '../../src/contracts/ids.ts';
import { by, type Scene, type Shipping } from '../support/shipping.ts';
import { until } from '../support/until.ts';

/** Small enough that a few looks at a pull request fill it. */
const MAX_EVENTS = 70;

/** Real runs of pull requests; of each its workflow, or the run of it, by the name of its history. */
export const shipmentRuns: Record<string, (shipping: Shipping) => Promise<{ workflowId: string; runId?: string }>> = {
  'shipment-merged': async (shipping) => {
    const s = await shipping.shipped();
    shipping.agent = () => ({ fails: true });
    s.checks(await s.head(), 'failure');
    await s.asked(/^The agent has changed nothing/);
    shipping.agent = () => ({ files: { 'b.txt': 'better\n' }, said: 'Corrected.' });
    await s.replies(/^The agent has changed nothing/, 'Write better into b.txt');
    await s.answer(/^Push this to #1/, 'allow');
    await s.told(/^Pushed to #1/);
    shipping.agent = () => ({ files: { 'b.txt': 'best\n' }, said: 'It is the best now.' });
    s.records().codeComments[1] = [{ id: 1, ...by('bo'), body: 'Better still?', path: 'b.txt', line: 1 }];
    await s.answer(/^Push this to #1/, 'allow');
    await until('it is answered', () => s.records().comments[1]?.length === 1);
    s.checks(await s.head(), 'success');
    await s.answer(/^Merge #1/, 'allow');
    return await ended(shipping, s);
  },
  'shipment-stopped': async (shipping) => {
    const s = await shipping.shipped();
    s.checks(await s.head(), null);
    await looks(s, 2);
    await s.says('ship stop');
    return await ended(shipping, s);
  },
  'shipment-continues-as-new': async (shipping) => {
    const { workflowId, first } = await continued(shipping);
    return { workflowId, runId: first };
  },
  'shipment-continued': continued,
};

/** One that continues as new while a question is open, and is answered afterwards. */
async function continued(shipping: Shipping): Promise<{ workflowId: string; first: string }> {
  const { config, temporal } = shipping.releases;
  const before = config.FETCH_MAX_HISTORY_EVENTS;
  config.FETCH_MAX_HISTORY_EVENTS = MAX_EVENTS;
  const s = await shipping.shipped();
  config.FETCH_MAX_HISTORY_EVENTS = before;
  const handle = temporal.workflow.getHandle(shipmentWorkflowId((await s.shipment()).id));
  const { runId: first } = await handle.describe();
  shipping.agent = () => ({ files: { 'b.txt': 'better\n' } });
  s.checks(await s.head(), 'failure');
  await s.asked(/^Push this to #1/);
  const head = await s.head();
  await until('it has continued as new', async () => (await handle.describe()).runId !== first);
  await s.answer(/^Push this to #1/, 'allow');
  await until('it is pushed', async () => (await s.head()) !== head);
  await s.says('ship stop');
  return { ...(await ended(shipping, s)), first };
}

async function ended(shipping: Shipping, s: Scene): Promise<{ workflowId: string }> {
  const workflowId = shipmentWorkflowId((await s.shipment()).id);
  await shipping.releases.temporal.workflow.getHandle(workflowId).result();
  return { workflowId };
}

async function looks(s: Scene, more: number): Promise<void> {
  const before = s.writes(/check-runs/).length;
  await until('it was looked at again', () => s.writes(/check-runs/).length >= before + more);
}
