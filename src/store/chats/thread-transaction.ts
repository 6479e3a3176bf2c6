import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { compiled } from '../postgres/compiled-query.ts';
import { type Db, NoThread, perDatabase, type Tx } from '../postgres/database.ts';
import { pipelinedTransaction, queryBuilder } from '../postgres/driver.ts';
import { WriteBatch } from './write-batch.ts';

/**
 * A transaction that holds the lock of a thread. `now` sends at once. `later` and `append` wait for `sendPending`,
 * which `onThread` calls before the commit. A function that gets a `WriteBatch` writes later and reads nothing. One
 * that gets a `Tx` runs at once.
 */
export class ThreadTransaction extends WriteBatch {
  /** For queries whose result is needed now. They see what was sent, but nothing that is pending. */
  readonly now: Tx;
  readonly chatId: string;
  /** when the transaction began, by the clock of the database */
  readonly at: Date;

  constructor(now: Tx, thread: { id: string; chatId: string; at: Date }) {
    super(thread.id);
    this.now = now;
    this.chatId = thread.chatId;
    this.at = thread.at;
  }

  /** Sends what is pending; later statements see it. */
  async sendPending(): Promise<void> {
    await this.takePending()?.execute(this.now);
  }
}

const lockOf = compiled('lock_thread', (db, threadId: string) =>
  db
    .selectFrom('threads')
    .select(['chat_id', sql<Date>`now()`.as('at')])
    .where('id', '=', threadId)
    .forUpdate(),
);

/**
 * Locks a thread until the transaction ends. Everything that adds events to a thread holds this lock before it draws a
 * `seq`, so sequence numbers of a thread become visible in order, and a reader at N never misses a smaller one. The
 * lock also makes "does a turn run?" and "then start one" one step. This statement reads nothing else: one that waited
 * for the lock would show other tables as they were before the wait.
 *
 * The caller sends what is pending before it commits.
 */
export async function lockThread(tx: Tx, threadId: string): Promise<ThreadTransaction> {
  const [row] = (await tx.executeQuery(lockOf(threadId))).rows;
  if (!row) throw new NoThread(threadId);
  return new ThreadTransaction(tx, { id: threadId, chatId: row.chat_id, at: row.at });
}

/** Runs `act` under the lock of a thread, sends what is pending, and commits. */
export async function onThread<T>(
  db: Db,
  threadId: string,
  act: (tx: ThreadTransaction) => Promise<T> | T,
): Promise<T> {
  return await threadQueue(db).run(threadId, () =>
    db.transaction().execute(async (now) => {
      const tx = await lockThread(now, threadId);
      const done = await act(tx);
      await tx.sendPending();
      return done;
    }),
  );
}

/** The code that `require_unchanged` raises (migration 0020). */
const CHANGED = 'TX001';

/** A statement that fails when the condition does not hold, so that the rest of its transaction has no effect. */
export const requireUnchanged = (condition: RawBuilder<boolean>): RawBuilder<unknown> =>
  sql`select require_unchanged(${condition})`;

/**
 * Does what `onThread` does in one round trip, for writes that need no answer and are valid only if something is
 * unchanged. `unchanged` (from
 * `requireUnchanged`) checks that after the lock, when the answer is certain. Returns false and stores nothing when it
 * has changed.
 */
export async function onThreadIf(
  db: Db,
  threadId: string,
  unchanged: CompiledQuery,
  fill: (batch: WriteBatch) => void,
): Promise<boolean> {
  const batch = new WriteBatch(threadId);
  fill(batch);
  const writes = batch.takePending();
  if (!writes) return true;
  try {
    await threadQueue(db).run(threadId, () =>
      pipelinedTransaction(db, [lockOf(threadId), unchanged, writes.compile(queryBuilder)]),
    );
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === CHANGED) return false;
    throw error;
  }
}

/** As long as the database lets a transaction wait for a lock, plus a little for those before it. */
const PATIENCE_MS = 20_000;

/** Too many transactions wait for one thread; the same call may work in a moment. */
export class ThreadBusy extends Error {
  /** lock_not_available, the database's own code for it */
  readonly code = '55P03';
  constructor(threadId: string) {
    super(`Another transaction has held thread ${threadId} for ${PATIENCE_MS / 1000} s.`);
    this.name = 'ThreadBusy';
  }
}

/**
 * Runs the transactions of one thread one after the other within this process. In the database they would wait for each
 * other's lock anyway, each with a connection. So a blocked thread would take all connections, and every other thread
 * would wait.
 */
export class ThreadQueue {
  /** the last transaction of each thread that has begun or waits */
  readonly #last = new Map<string, Promise<void>>();

  /** @throws ThreadBusy */
  async run<T>(threadId: string, act: () => Promise<T>, patienceMs = PATIENCE_MS): Promise<T> {
    const before = this.#last.get(threadId) ?? Promise.resolve();
    let over!: () => void;
    const mine = before.then(() => new Promise<void>((resolve) => (over = resolve)));
    this.#last.set(threadId, mine);
    void mine.then(() => this.#last.get(threadId) === mine && this.#last.delete(threadId));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, patienceMs, 'late');
    });
    try {
      if ((await Promise.race([before, late])) === 'late') throw new ThreadBusy(threadId);
      return await act();
    } finally {
      clearTimeout(timer);
      // a transaction that gave up passes its turn on when it is reached
      void before.then(() => over());
    }
  }
}

const threadQueue = perDatabase(() => new ThreadQueue());
