import { Worker } from 'node:worker_threads';
import { CODE_EXTENSION } from '../../installation.ts';
import { FetchError } from './fetch-page.ts';
import { type ReadablePage, SelectorError } from './readable-page.ts';

/** Real pages take well under a second. */
const CONVERT_MS = 8_000;
const MEMORY_MB = 256;
/** Loading what reads a page takes longer than reading most pages, and they come one after the other. */
const KEPT_MS = 30_000;

export type PageToRead = { html: string; url: string; selector: string | undefined };
export type ReadAnswer = { page?: ReadablePage; error?: string; selector?: boolean };

/** A thread that has read a page, and waits for the next one. */
let kept: { thread: Worker; end: () => void; timer: NodeJS.Timeout } | undefined;

/**
 * Converts a page in a thread, which is ended at a deadline: a page may be made to take minutes, and this process must
 * send heartbeats. @throws SelectorError, FetchError
 */
export function convertPage(
  html: string,
  url: string,
  selector: string | undefined,
  signal: AbortSignal,
  limitMs = CONVERT_MS,
): Promise<ReadablePage> {
  return new Promise((resolve, reject) => {
    const thread = takeThread();
    const timer = setTimeout(
      () => fail(new FetchError('This page is too complicated to be turned into text.')),
      limitMs,
    );
    const abort = () => fail(signal.reason as Error);
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      thread.off('message', take).off('error', broke);
    };
    const fail = (error: Error) => {
      done();
      void thread.terminate();
      reject(error);
    };
    signal.addEventListener('abort', abort, { once: true });
    const take = (answer: ReadAnswer) => {
      done();
      keepThread(thread);
      if (answer.page) resolve(answer.page);
      else reject(answer.selector ? new SelectorError(answer.error ?? '') : unreadable(answer.error));
    };
    // reaching its memory limit ends a thread with an error too
    const broke = (error: Error) => fail(unreadable(error.message));
    thread.on('message', take).on('error', broke);
    if (signal.aborted) abort();
    else thread.postMessage({ html, url, selector } satisfies PageToRead);
  });
}

const unreadable = (why: string | undefined): FetchError =>
  new FetchError(`This page could not be turned into text: ${why}`);

/** Nobody else uses it until it is kept again. */
function takeThread(): Worker {
  if (kept) {
    const { thread, end, timer } = kept;
    kept = undefined;
    clearTimeout(timer);
    thread.off('error', end).ref();
    return thread;
  }
  return new Worker(new URL(`./readable-thread${CODE_EXTENSION}`, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    stdout: true,
    stderr: true,
  });
}

function keepThread(thread: Worker): void {
  if (kept) return void thread.terminate();
  const end = () => {
    kept = undefined;
    void thread.terminate();
  };
  kept = { thread, end, timer: setTimeout(end, KEPT_MS).unref() };
  // neither it nor its timer holds a process up that is done
  thread.on('error', end).unref();
}
