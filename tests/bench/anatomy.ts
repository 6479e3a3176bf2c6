import type { Part } from './bench.ts';
import { figures } from './figures.ts';
import { historyCost, stretches } from './history.ts';
import { steps } from './turns.ts';

/** Where the milliseconds of a turn go, by the times of its history events. */
export const anatomy: Part = {
  name: 'anatomy',
  title: 'Where the time of a turn with 1 tool call goes (ms, by history event times)',
  async run({ app, taker, temporal, workflowOf, pick }) {
    const thread = await app.thread();
    await taker.take(thread, steps(1));
    const workflowId = await workflowOf(thread);
    const { events } = await historyCost(temporal, workflowId);
    for (let at = 0; at < pick(5, 15, 40); at++) await taker.take(thread, steps(1));
    const groups = Map.groupBy(await stretches(temporal, workflowId, events), (stretch) => stretch.name);
    return [...groups].map(([stretch, found]) => ({ stretch, ...figures(found.map((each) => each.ms)) }));
  },
};
