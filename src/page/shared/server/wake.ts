/** A page that was hidden for as long may have been frozen meanwhile, with dead connections; ms. */
const HIDDEN_MS = 3_000;

let sleep = new AbortController();

/** Aborts when the page wakes up. A connection from before may be dead, and nothing tells that. */
export const untilWoken = (): AbortSignal => sleep.signal;

/** Looks at the browser's own words for it, and for a lost network: phones freeze a page in the background, and not each browser says so. */
export function watchSleep(): void {
  let hiddenAt: number | null = null;
  const wake = (): void => {
    const slept = sleep;
    sleep = new AbortController();
    slept.abort();
  };
  document.addEventListener('resume', wake);
  // a stream stays open without a network, and would tell it only by its silence
  addEventListener('offline', wake);
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) wake();
  });
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) hiddenAt = Date.now();
    else if (hiddenAt !== null && Date.now() - hiddenAt > HIDDEN_MS) wake();
  });
}
