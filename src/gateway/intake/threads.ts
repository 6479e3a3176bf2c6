import type { Config } from '../../config.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { ThreadRecord } from '../../contracts/records.ts';
import { chatKey } from '../../store/chats/ids.ts';
import { isSession, markDeleted, openTask } from '../../store/chats/sessions/sessions.ts';
import { onThread, type ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { ensureThread, eraseTexts } from '../../store/chats/threads/threads.ts';
import { type Db, NoThread } from '../../store/postgres/database.ts';
import { beginAnew } from '../../store/turns/replies.ts';
import { activeTurn } from '../../store/turns/turns.ts';
import { type IntakeDeps, IntakeError } from './signal.ts';

/** The thread of a chat on a channel, created on first use. `secret`: key of the hash in its ids. */
export async function channelThread(
  deps: { db: Db; config: Config; secret: string },
  channel: Channel,
  address: string,
): Promise<ThreadRecord> {
  const { db, config, secret } = deps;
  return await ensureThread(db, config, { channel, address }, (address) => chatKey(secret, channel, address));
}

type SessionDeps = Pick<IntakeDeps, 'db'>;

/**
 * Begins a new conversation, as `/new` in the chat does. Under the thread's lock, so that it never falls between the
 * steps of a turn. @throws IntakeError
 */
export const clearSession = (deps: SessionDeps, threadId: string): Promise<void> =>
  onIdleSession(deps, threadId, 'cleared', async (tx) => {
    await beginAnew(tx.now, threadId);
  });

/**
 * Also erases the texts, and hides the session until the next message in its chat. A coding task may still report to it.
 * @throws IntakeError
 */
export const deleteSession = (deps: SessionDeps, threadId: string): Promise<void> =>
  onIdleSession(deps, threadId, 'deleted', async (tx) => {
    const task = await openTask(tx.now, threadId);
    if (task)
      throw new IntakeError(
        'conflict',
        `Coding task ${task} of this session is not over. Say "stop ${task}" in its chat first; then it can be deleted.`,
      );
    await beginAnew(tx.now, threadId);
    await eraseTexts(tx);
    await markDeleted(tx.now, threadId);
  });

async function onIdleSession(
  { db }: SessionDeps,
  threadId: string,
  done: string,
  act: (tx: ThreadTransaction) => Promise<void>,
): Promise<void> {
  const missing = () => new IntakeError('not_found', 'Session not found');
  await onThread(db, threadId, async (tx) => {
    if (!(await isSession(tx.now, threadId))) throw missing();
    if (await activeTurn(tx.now, threadId))
      throw new IntakeError(
        'conflict',
        `A turn is at work in this session. Say "stop" in its chat first; then it can be ${done}.`,
      );
    await act(tx);
  }).catch((error) => {
    throw error instanceof NoThread ? missing() : error;
  });
}
