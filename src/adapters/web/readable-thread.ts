import { parentPort } from 'node:worker_threads';
import type { PageToRead, ReadAnswer } from './convert-page.ts';
import { readablePage } from './readable.ts';
import { SelectorError } from './readable-page.ts';

/** Entry of the thread that converts pages, one after the other. */
parentPort!.on('message', ({ html, url, selector }: PageToRead) => {
  parentPort!.postMessage(answerTo(html, url, selector));
});

function answerTo(html: string, url: string, selector: string | undefined): ReadAnswer {
  try {
    return { page: readablePage(html, url, selector) };
  } catch (error) {
    return { error: (error as Error).message, selector: error instanceof SelectorError };
  }
}
