import { serve, startBrowserBench } from '../support/browser-bench.ts';
import type { Part } from './bench.ts';
import { figures, type Row } from './figures.ts';

const ELEMENTS = 2_000;

/**
 * Reading a page of 2,000 elements in a browser that is open: the whole call of the tool, and how much of it the model
 * sees at once.
 */
export const browserSnapshot: Part = {
  name: 'browser-snapshot',
  title: `browser_snapshot of a page of ${ELEMENTS} elements`,
  async run({ app, pick }) {
    const bench = await startBrowserBench(app.store.db);
    const site = await serve({
      '/': Array.from({ length: ELEMENTS }, (_, row) => `<button>Row ${row}</button>`).join(''),
    });
    try {
      const chat = await bench.chat();
      const opened = performance.now();
      await chat.call('browser_open', { url: `http://site.test:${site.port}/` });
      const first = performance.now() - opened;
      const times: number[] = [];
      let stored = 0;
      for (let at = 0; at < pick(3, 10, 20); at += 1) {
        const began = performance.now();
        const { output, metadata } = await chat.call('browser_snapshot', {});
        times.push(performance.now() - began);
        if (metadata?.elements !== ELEMENTS) throw new Error(`the page has ${metadata?.elements} elements`);
        stored = output.length;
      }
      const { n, median, min } = figures(times);
      return [
        {
          snapshots: n,
          'median ms': median,
          'min ms': min,
          'new browser and page ms': Math.round(first),
          'stored characters': stored,
        } satisfies Row,
      ];
    } finally {
      await site.close();
      await bench.close();
    }
  },
};
