import type { Bench, Part } from './bench.ts';
import { median, type Row, round } from './figures.ts';
import { historyCost } from './history.ts';
import { steps } from './turns.ts';

const WINDOW = 20;

/**
 * One chat that grows long: a turn with one tool call, at the beginning and after many others. Medians of twenty turns,
 * beside as many of a chat that begins.
 */
export const longChat: Part = {
  name: 'long',
  title: 'Cost of a turn as one chat grows (1 tool call; medians of 20 turns)',
  async run(bench) {
    const thread = await bench.app.thread();
    const rows: Row[] = [];
    let turns = 0;
    for (const mark of bench.pick([1, 40], [1, 100, 300], [1, 100, 1000])) {
      for (; turns < mark - 1; turns++) await bench.taker.take(thread, steps(1));
      rows.push({ 'from turn': turns + 1, ...(await window(bench, thread)) });
      turns += WINDOW;
    }
    return rows;
  },
};

async function window({ app, bare, taker, temporal, workflowOf }: Bench, thread: string): Promise<Row> {
  const young = await app.thread();
  const youngSeen: number[] = [];
  const asking: number[] = [];
  const askingYoung: number[] = [];
  const seen: number[] = [];
  const requestBytes: number[] = [];
  const events: number[] = [];
  const historyBytes: number[] = [];
  let before: { events: number; bytes: number } | undefined;
  for (let at = 0; at < WINDOW; at++) {
    const first = app.model.requests().length;
    seen.push((await taker.take(thread, steps(1))).seen);
    const bytes = app.model.requests()[first]?.bytes ?? 0;
    requestBytes.push(bytes);
    asking.push(await bare.run(4, { count: 2, bytes }));
    // the machine of this minute, so that its other work does not pass for growth
    const youngFirst = app.model.requests().length;
    youngSeen.push((await taker.take(young, steps(1))).seen);
    askingYoung.push(await bare.run(4, { count: 2, bytes: app.model.requests()[youngFirst]?.bytes ?? 0 }));
    const after = await historyCost(temporal, await workflowOf(thread));
    // a new run begins a new history: that turn's share cannot be told
    if (before && after.events > before.events) {
      events.push(after.events - before.events);
      historyBytes.push(after.bytes - before.bytes);
    }
    before = after;
  }
  return {
    'answer seen ms': median(seen),
    'young chat beside it ms': median(youngSeen),
    'long / young': round(median(seen) / median(youngSeen)),
    'bare, same requests ms': round(median(asking)),
    'bare, requests of the young ms': round(median(askingYoung)),
    'history events': median(events),
    'history bytes': median(historyBytes),
    'model request KB': round(median(requestBytes) / 1024, 1),
  };
}
