import { startTestApp } from '../support/app.ts';
import type { Part } from './bench.ts';
import type { Row } from './figures.ts';
import { openTaker, steps } from './turns.ts';

/**
 * From the command to the first reply, with an instance of its own: in an empty home, and again in the same one.
 * Downloads and `npm ci` are not in it.
 */
export const coldStart: Part = {
  name: 'start',
  title: 'Cold start to the first reply',
  async run() {
    const rows: Row[] = [];
    const begun = Date.now();
    const app = await startTestApp();
    try {
      const reply = async (start: string, from: number): Promise<void> => {
        const ready = Date.now() - from;
        const taker = await openTaker(app);
        await taker.take(await app.thread(), steps(0));
        rows.push({ start, 'ready ms': ready, 'first reply ms': Date.now() - from });
        await taker.close();
      };
      await reply('first (empty home)', begun);
      await app.stop();
      const again = Date.now();
      await app.start();
      await reply('later', again);
    } finally {
      await app.close();
    }
    return rows;
  },
};
