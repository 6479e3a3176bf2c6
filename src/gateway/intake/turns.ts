import type { NamedCall } from '../../contracts/conversation.ts';
import type { ThreadRecord, TurnRecord } from '../../contracts/records.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { getThread } from '../../store/chats/threads/threads.ts';
import type { Db } from '../../store/postgres/database.ts';
import type { Heard } from '../../store/turns/steps/transcript.ts';
import { activeTurn, findTurn, openCompaction, openTurn, toTurnRecord } from '../../store/turns/turns.ts';
import { IntakeError } from './intake-error.ts';
import type { MessageId } from './message.ts';
import { type IdempotentRequest, once } from './once.ts';
import type { IntakeDeps } from './signal.ts';

export interface TurnRequest {
  threadId: string;
  prompt: string;
  inputSummary?: string;
  model?: string;
  autoApprove?: boolean;
  mode?: string;
  allowShell?: boolean;
  /** the turn consists of this call, and no model is asked */
  call?: NamedCall;
  /** whose words the prompt consists of, where they are not the person's */
  heard?: Heard;
  channelMessageId: MessageId;
}

export interface CompactionRequest {
  threadId: string;
  reason?: string;
  channelMessageId: MessageId;
}

export interface StartedTurn {
  thread: ThreadRecord;
  turn: TurnRecord;
}

export function startTurn(deps: IntakeDeps, request: TurnRequest): Promise<StartedTurn> {
  const { threadId, prompt, channelMessageId: id, ...settings } = request;
  return begin(deps, { threadId, id, body: prompt }, (tx) => openTurn(tx, { text: prompt, ...settings }));
}

/** A turn that only sums up what was said before. */
export const compact = (
  deps: IntakeDeps,
  { threadId, reason, channelMessageId: id }: CompactionRequest,
): Promise<StartedTurn> =>
  begin(deps, { threadId, id, body: '' }, (tx) => openCompaction(tx, reason ?? 'Manual context compaction'));

async function begin(
  deps: IntakeDeps,
  request: IdempotentRequest,
  open: (tx: ThreadTransaction) => TurnRecord,
): Promise<StartedTurn> {
  const { threadId } = request;
  // as it was opened: a quick turn may have ended before its signal was accepted
  let opened: TurnRecord | undefined;
  const { turnId } = await once(deps, request, async (tx, { inboxId }) => {
    if (await activeTurn(tx.now, threadId)) throw new IntakeError('conflict', 'Thread already has an active turn');
    opened = open(tx);
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
