import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { compiled } from '../postgres/compiled-query.ts';
import { type Db, NoThread, type Tx } from '../postgres/database.ts';
import { pipelinedTransaction } from '../postgres/pipelined-transaction.ts';
import { queryBuilder } from '../postgres/query-builder.ts';
import { threadQueue } from '../postgres/thread-queue.ts';
import { WriteBatch } from '../postgres/write-batch.ts';

/**
 * A transaction that holds the lock of a thread. `now` sends at once. `later` and `append` wait for `sendPending`, which `onThread` calls before the
 * commit. What takes a `WriteBatch` writes later and reads nothing. What takes a `Tx` runs at once.
 */
export class ThreadTransaction extends WriteBatch {
  /** For queries whose result is wanted now. They see what was sent, and nothing that is pending. */
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

  /** Sends what waits: what follows sees it. */
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
 * Locks a thread until the transaction ends. Whatever adds events to a thread holds this lock before it draws a `seq`,
 * so within a thread sequence numbers become visible in their order and a reader that is at N can never miss a smaller one.
 * It is also what makes "does a turn run?" and "then start one" one step. It reads nothing else of the store on the way:
 * a statement that waited for the lock would show the other tables as they were before the wait.
 *
 * The caller sends what is pending before it commits.
 */
export async function lockThread(tx: Tx, threadId: string): Promise<ThreadTransaction> {
  const [row] = (await tx.executeQuery(lockOf(threadId))).rows;
  if (!row) throw new NoThread(threadId);
  return new ThreadTransaction(tx, { id: threadId, chatId: row.chat_id, at: row.at });
}

/** Runs `act` under the lock of a thread, sends what it left pending, and commits. */
export async function onThread<T>(db: Db, threadId: string, act: (tx: ThreadTransaction) => Promise<T> | T): Promise<T> {
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

/** A statement that fails where the condition does not hold, so that the rest of its transaction is void. */
export const requireUnchanged = (condition: RawBuilder<boolean>): RawBuilder<unknown> => sql`select require_unchanged(${condition})`;

/**
 * What `onThread` does, in one round trip, for writes that need no answer and are right only while something is as the caller read it:
 * `unchanged`, of `requireUnchanged`, asks that after the lock, when the store says it for certain. False, and nothing is stored: it has changed.
 */
export async function onThreadIf(db: Db, threadId: string, unchanged: CompiledQuery, fill: (batch: WriteBatch) => void): Promise<boolean> {
  const batch = new WriteBatch(threadId);
  fill(batch);
  const writes = batch.takePending();
  if (!writes) return true;
  try {
    await threadQueue(db).run(threadId, () => pipelinedTransaction(db, [lockOf(threadId), unchanged, writes.compile(queryBuilder)]));
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === CHANGED) return false;
    throw error;
  }
}
