import type { Bench, Part } from './bench.ts';
import { median, type Row, round } from './figures.ts';
import { historyCost } from './history.ts';
import { cpuMsOf, total, usageByRole } from './processes.ts';
import { activitiesOf, steps } from './turns.ts';

/** Our turn against a bare workflow with as many activities, in turns, so that both meet the same machine. */
export const turnCost: Part = {
  name: 'turn',
  title: 'A turn against a bare workflow with as many activities',
  async run(bench) {
    const rows: Row[] = [];
    for (const calls of [0, 1, 3, 10]) rows.push(await compare(bench, calls));
    return rows;
  },
};

async function compare({ app, bare, taker, temporal, workflowOf, pick }: Bench, calls: number): Promise<Row> {
  const rounds = pick(5, 15, 60);
  const thread = await app.thread();
  await taker.take(thread, steps(calls));
  const workflowId = await workflowOf(thread);
  const before = await historyCost(temporal, workflowId);
  const ours: number[] = [];
  const sent: number[] = [];
  const theirs: number[] = [];
  const asking: number[] = [];
  let cpuMs = 0;
  let bareCpuMs = 0;
  let turns = 0;
  let events = Number.NaN;
  for (let at = 0; at < rounds; at++) {
    const start = total(usageByRole(app), 'cpuMs');
    const times = await taker.take(thread, steps(calls));
    cpuMs += total(usageByRole(app), 'cpuMs') - start;
    ours.push(times.seen);
    sent.push(times.sent);
    turns++;
    // the first turns are counted, before a continue-as-new begins a new history
    if (turns === 3) events = (await historyCost(temporal, workflowId)).events - before.events;
    const bareStart = total(usageByRole(app), 'cpuMs') + cpuMsOf(bare.pid);
    theirs.push(await bare.run(activitiesOf(calls)));
    bareCpuMs += total(usageByRole(app), 'cpuMs') + cpuMsOf(bare.pid) - bareStart;
    asking.push(await bare.run(activitiesOf(calls), { count: calls + 1, bytes: app.model.requests().at(-1)!.bytes }));
  }
  const bareCost = await bare.cost(activitiesOf(calls));
  return {
    'tool calls': calls,
    activities: activitiesOf(calls),
    'bare ms': round(median(theirs)),
    'bare with the model requests ms': round(median(asking)),
    'answer seen ms': median(ours),
    'answer sent ms': median(sent),
    'seen / bare': round(median(ours) / median(theirs)),
    'seen / bare with requests': round(median(ours) / median(asking)),
    'sent / bare': round(median(sent) / median(theirs)),
    'bare events': bareCost.events,
    'our events': round(events / 3, 1),
    'bare CPU ms': round(bareCpuMs / turns, 0),
    'our CPU ms': round(cpuMs / turns, 0),
  };
}
