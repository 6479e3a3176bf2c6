import { createLog } from '../../log.ts';
import type { IntakeDeps } from '../signal.ts';
import { createReconcile, type Reconciled } from './reconcile.ts';
import { type Resignalling, resignal } from './resignal.ts';

const SWEEP_MS = 1000;
const RECONCILE_MS = 30_000;
/** After a comparison in which something failed: at a start the worker that answers for its workflows may be a moment behind. */
const AGAIN_MS = 3_000;
const SOON = 4;
/** A comparison may take this part of the time: with many open questions it comes less often. */
const SHARE = 1 / 10;
/** What is older than this process by so much is not on its way any more: it was lost, perhaps with the machine. */
const AT_START_MS = 5_000;

type Log = ReturnType<typeof createLog>;

/** Brings back what a crash lost, for as long as the gateway lives; returns how to stop. Several gateways may do it: a doubled signal is dropped. */
export function sweep(deps: IntakeDeps): () => void {
  const log = createLog('sweeper', deps.config.LOG_LEVEL);
  // side by side: thousands of rows to compare must not hold up the signals of new messages
  const stops = [repeat(resignalling(deps, log)), repeat(comparing(deps, log))];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Runs one round after the other; each says in how many ms the next one begins. Returns how to stop. */
function repeat(round: () => Promise<number>): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const run = async (): Promise<void> => {
    const ms = await round();
    if (!stopped) timer = setTimeout(() => void run(), ms);
  };
  void run();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** Looks for inbox rows whose signal was lost. */
function resignalling(deps: IntakeDeps, log: Log): () => Promise<number> {
  const at: Resignalling = { after: null };
  return async () => {
    const found = await resignal(deps, at).catch((error) => {
      log.warn({ error: (error as Error).message }, 'could not signal again; the rows are kept and the next round tries them');
      return 0;
    });
    if (found > 0) log.info({ found }, 'signalled messages again whose signal was lost');
    return SWEEP_MS;
  };
}

/** Compares the database with the Temporal server. */
function comparing(deps: IntakeDeps, log: Log): () => Promise<number> {
  const reconcile = createReconcile(deps);
  let settledMs: number | undefined = AT_START_MS;
  /** comparisons in a row in which something failed */
  let incomplete = 0;
  return async () => {
    const from = Date.now();
    const complete = await reconcile(settledMs).then(
      (reconciled) => tell(log, reconciled),
      (error) => {
        log.warn({ error: (error as Error).message }, 'could not compare the database with the Temporal server; the next round tries again');
        return false;
      },
    );
    incomplete = complete ? 0 : incomplete + 1;
    if (complete) settledMs = undefined;
    // time that was spent waiting for an answer that did not come is no load
    return incomplete > 0 && incomplete <= SOON ? AGAIN_MS * incomplete : Math.max(RECONCILE_MS, (Date.now() - from) / SHARE);
  };
}

/** Whether every row could be compared. */
function tell(log: Log, reconciled: Reconciled): boolean {
  const found = Object.fromEntries(Object.entries(reconciled).flatMap(([what, walked]) => (walked.found > 0 ? [[what, walked.found]] : [])));
  if (Object.keys(found).length > 0) log.warn(found, 'brought back what the Temporal server no longer had');
  for (const [what, { failed, failure }] of Object.entries(reconciled))
    if (failed > 0)
      log.warn({ what, failed, error: failure?.message }, 'could not compare some rows with the Temporal server; the next round tries them again');
  return Object.values(reconciled).every(({ failed }) => failed === 0);
}
