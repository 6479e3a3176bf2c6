import type { Arrival } from '../../../contracts/conversation.ts';
import { DAY, HOUR } from '../../../domain/time.ts';
import { createLog } from '../../../log.ts';
import { pruneTalk } from '../../../store/chats/groups.ts';
import { arrivalOf, type Unsignalled, unsignalled } from '../../../store/chats/messages/inbox.ts';
import { idleSessions } from '../../../store/chats/sessions/sessions.ts';
import { type IntakeDeps, IntakeError, isServerAway, signalArrival } from '../signal.ts';
import { deleteSession } from '../threads.ts';
import { createReconcile, type Reconcile, type Reconciled } from './reconcile.ts';

const SWEEP_MS = 1000;
const RECONCILE_MS = 30_000;
/** Wait after a comparison with failures: just after a start, the worker that answers queries may not be ready. */
const AGAIN_MS = 3_000;
const SOON = 4;
/** Largest share of time for comparisons: with many open questions they come less often. */
const SHARE = 1 / 10;
/**
 * A row that is this much older than the process is no longer on its way: its signal was lost, perhaps with the
 * machine.
 */
const AT_START_MS = 5_000;

type Log = ReturnType<typeof createLog>;

/**
 * Restores what a crash lost, while the gateway lives; returns a function that stops it. Several gateways may do it,
 * because a repeated signal is dropped.
 */
export function sweep(deps: IntakeDeps): () => void {
  const log = createLog('sweeper', deps.config.LOG_LEVEL);
  // in parallel: comparing thousands of rows must not delay the signals of new messages
  const reconcile = createReconcile(deps);
  const stops = [
    repeat(resignalling(deps, log)),
    repeat(comparing(reconcile, log)),
    repeat(comparingSleepers(reconcile, log)),
    repeat(retention(deps, log)),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Runs one round after the other; each returns the ms until the next. Returns a function that stops it. */
function repeat(round: (stop: AbortSignal) => Promise<number>): () => void {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const run = async (): Promise<void> => {
    const ms = await round(stop.signal);
    if (!stop.signal.aborted) timer = setTimeout(() => void run(), ms);
  };
  void run();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}

/** Finds inbox rows whose signal was lost. */
function resignalling(deps: IntakeDeps, log: Log): () => Promise<number> {
  const at: Resignalling = { after: null };
  return async () => {
    const found = await resignal(deps, at).catch((error) => {
      log.warn(
        { error: (error as Error).message },
        'could not signal again; the rows are kept and the next round tries them',
      );
      return 0;
    });
    if (found > 0) log.info({ found }, 'signalled messages again whose signal was lost');
    return SWEEP_MS;
  };
}

/** Compares the database with the Temporal server. */
function comparing(reconcile: Reconcile, log: Log): () => Promise<number> {
  let settledMs: number | undefined = AT_START_MS;
  /** comparisons in a row with failures */
  let incomplete = 0;
  return async () => {
    const from = Date.now();
    const complete = await told(log, reconcile(settledMs));
    incomplete = complete ? 0 : incomplete + 1;
    if (complete) settledMs = undefined;
    // waiting for answers that did not come is not load
    return incomplete > 0 && incomplete <= SOON
      ? AGAIN_MS * incomplete
      : Math.max(RECONCILE_MS, (Date.now() - from) / SHARE);
  };
}

/** Compares the turns that sleep. */
function comparingSleepers(reconcile: Reconcile, log: Log): (stop: AbortSignal) => Promise<number> {
  return async (stop) => {
    await told(
      log,
      reconcile.asleep(stop).then((turns) => ({ turns })),
    );
    return RECONCILE_MS;
  };
}

/** Whether every row could be compared. */
const told = (log: Log, round: Promise<Partial<Reconciled>>): Promise<boolean> =>
  round.then(
    (reconciled) => tell(log, reconciled),
    (error) => {
      log.warn(
        { error: (error as Error).message },
        'could not compare the database with the Temporal server; the next round tries again',
      );
      return false;
    },
  );

function tell(log: Log, reconciled: Partial<Reconciled>): boolean {
  const found = Object.fromEntries(
    Object.entries(reconciled).flatMap(([what, walked]) => (walked.found > 0 ? [[what, walked.found]] : [])),
  );
  if (Object.keys(found).length > 0) log.warn(found, 'brought back what the Temporal server no longer had');
  for (const [what, { failed, failure }] of Object.entries(reconciled))
    if (failed > 0)
      log.warn(
        { what, failed, error: failure?.message },
        'could not compare some rows with the Temporal server; the next round tries them again',
      );
  return Object.values(reconciled).every(({ failed }) => failed === 0);
}

/** in one round; the next one takes what is left */
const AT_ONCE = 200;

/**
 * Erases what was said in groups and never read, and the texts of sessions in which nothing was said for
 * FETCH_KEEP_DAYS, as their deletion does. One at work is
 * left for a later round.
 */
function retention(deps: Pick<IntakeDeps, 'db' | 'config'>, log: ReturnType<typeof createLog>): () => Promise<number> {
  return async () => {
    const days = deps.config.FETCH_KEEP_DAYS;
    try {
      await pruneTalk(deps.db);
      if (days === undefined) return HOUR;
      const deleted = await deleteIdle(deps, new Date(Date.now() - days * DAY));
      if (deleted > 0) log.info({ deleted, days }, 'erased sessions that were older than FETCH_KEEP_DAYS');
    } catch (error) {
      log.warn(
        { error: (error as Error).message },
        'could not look for sessions that are to be erased; the next round does',
      );
    }
    return HOUR;
  };
}

export async function deleteIdle(deps: Pick<IntakeDeps, 'db'>, before: Date): Promise<number> {
  let deleted = 0;
  for (const id of await idleSessions(deps.db, before, AT_ONCE)) {
    try {
      await deleteSession(deps, id);
      deleted += 1;
    } catch (error) {
      if (!(error instanceof IntakeError)) throw error;
    }
  }
  return deleted;
}

/** Where the last round stopped, so that failing rows do not block the rows behind them. */
export interface Resignalling {
  after: Unsignalled | null;
}

/** Chats that are signalled in parallel. The rows of one chat go in order. */
const PARALLEL = 8;

/**
 * Signals rows whose signal was lost in a crash. At most `limit` at a time, so that a backlog does not delay new
 * messages.
 */
export async function resignal(
  deps: IntakeDeps,
  at: Resignalling = { after: null },
  olderThanMs = 2000,
  limit = 50,
): Promise<number> {
  const rows = await unsignalled(deps.db, olderThanMs, limit, at.after);
  at.after = rows.length === limit ? rows.at(-1)! : null;
  let found = 0;
  let failure: Error | undefined;
  const chats = [...Map.groupBy(rows, (row) => row.chatId).values()];
  const lane = async () => {
    for (let chat = chats.shift(); chat; chat = chats.shift()) {
      try {
        for (const { id } of chat) if (await signalRow(deps, id)) found += 1;
      } catch (error) {
        if (isServerAway(error)) throw error;
        failure = error as Error;
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  if (failure) throw new Error(`${found} of ${rows.length} rows could be signalled again: ${failure.message}`);
  return found;
}

async function signalRow(deps: IntakeDeps, inboxId: string): Promise<boolean> {
  const row = await arrivalOf(deps.db, inboxId);
  if (!row || row.signalled_at) return false;
  const { arrival, chat_id, channel, workflow_id, resignalled, trace_parent } = row;
  const known = {
    inboxId,
    arrival: arrival as Arrival,
    chatId: chat_id,
    channel,
    workflowId: workflow_id,
    resignalled,
    traceParent: trace_parent,
  };
  await signalArrival(deps, known);
  return true;
}
