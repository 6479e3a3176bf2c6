import type { NamedCall } from '../../contracts/conversation.ts';
import type { ThreadRecord, TurnRecord } from '../../contracts/records.ts';
import { parseTaskOrder } from '../../domain/chat/words/commands.ts';
import { sayTo } from '../../store/chats/preferences.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { getThread } from '../../store/chats/threads/threads.ts';
import type { Db } from '../../store/postgres/database.ts';
import { addReply, replyNow, turnOfReply } from '../../store/turns/replies.ts';
import type { Heard } from '../../store/turns/steps/transcript.ts';
import { activeTurn, findTurn, openCompaction, openTurn, toTurnRecord } from '../../store/turns/turns.ts';
import { taskOrder } from './commands/tasks.ts';
import type { MessageId } from './message.ts';
import { type IdempotentRequest, type Meant, once } from './once.ts';
import { type IntakeDeps, IntakeError } from './signal.ts';

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
  /** what the person is told at its beginning */
  notice?: string;
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
  return begin(
    deps,
    { threadId, id, body: prompt },
    (tx) => openTurn(tx, { text: prompt, ...settings }),
    settings.call || settings.heard ? undefined : (tx, inboxId) => orderOf(tx, { inboxId, said: prompt }),
  );
}

const ORDERED = { pause: 'The task is paused.', resume: 'The task goes on.', cancel: 'The task is stopped.' } as const;

/** An order to a coding task (`pause`, `now`): a turn that is complete at once. Null for all other words. */
async function orderOf(
  tx: ThreadTransaction,
  { inboxId, said }: { inboxId: string; said: string },
): Promise<Meant | null> {
  const order = parseTaskOrder(said);
  // while a turn runs, a bare "stop" is for the turn
  if (!order || (order.order === 'cancel' && !order.taskId && (await activeTurn(tx.now, tx.threadId)))) return null;
  const say = await sayTo(tx.now, tx.chatId);
  const meant = await taskOrder(tx.now, order, { chatId: tx.chatId, say, text: said, inboxId });
  if (meant === null) return null;
  const turnId = turnOfReply(inboxId);
  if (typeof meant === 'string') return { arrival: await replyNow(tx, { inboxId, said, body: meant }), turnId };
  await addReply(tx, { inboxId, said, body: ORDERED[meant.order] });
  return { arrival: meant, turnId };
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
  otherwise?: (tx: ThreadTransaction, inboxId: string) => Promise<Meant | null>,
): Promise<StartedTurn> {
  const { threadId } = request;
  // as it was opened: a quick turn may have ended before its signal was accepted
  let opened: TurnRecord | undefined;
  const { turnId } = await once(deps, request, async (tx, { inboxId }) => {
    const other = await otherwise?.(tx, inboxId);
    if (other) return other;
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
