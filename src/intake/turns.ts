import type { ThreadRecord, TurnRecord } from '../contracts/records.ts';
import { getThread } from '../store/chats/threads.ts';
import type { Db } from '../store/postgres/database.ts';
import { activeTurn, findTurn, openTurn, toTurnRecord } from '../store/turns/turns.ts';
import { IntakeError } from './intake-error.ts';
import type { MessageId } from './message.ts';
import { once } from './once.ts';
import type { IntakeDeps } from './signal.ts';

export interface TurnRequest {
  threadId: string;
  prompt: string;
  inputSummary?: string;
  model?: string;
  autoApprove?: boolean;
  mode?: string;
  allowShell?: boolean;
  channelMessageId: MessageId;
}

export async function startTurn(deps: IntakeDeps, request: TurnRequest): Promise<{ thread: ThreadRecord; turn: TurnRecord }> {
  const { threadId, prompt, channelMessageId: id, ...settings } = request;
  // as it was opened: a quick turn may have ended before its signal was accepted
  let opened: TurnRecord | undefined;
  const { turnId } = await once(deps, { threadId, id, body: prompt }, async (tx, { inboxId }) => {
    if (await activeTurn(tx.now, threadId)) throw new IntakeError('conflict', 'Thread already has an active turn');
    opened = openTurn(tx, { text: prompt, ...settings });
    return { arrival: { kind: 'turn', inboxId, turnId: opened.id, threadId }, turnId: opened.id };
  });
  const [thread, turn] = await Promise.all([getThread(deps.db, threadId), opened ?? requireTurn(deps.db, turnId!)]);
  return { thread: thread!, turn };
}

/** @throws IntakeError */
export async function requireTurn(db: Db, id: string): Promise<TurnRecord> {
  const row = await findTurn(db, id);
  if (!row) throw new IntakeError('not_found', `Turn not found: ${id}`);
  return toTurnRecord(db, row);
}
