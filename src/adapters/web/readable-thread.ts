import { parentPort, workerData } from 'node:worker_threads';
import { readablePage } from './readable.ts';
import { SelectorError } from './readable-page.ts';

/** Entry of the thread that converts one page. */
const { html, url, selector } = workerData as { html: string; url: string; selector?: string };
try {
  parentPort?.postMessage({ page: readablePage(html, url, selector) });
} catch (error) {
  parentPort?.postMessage({ error: (error as Error).message, selector: error instanceof SelectorError });
}
