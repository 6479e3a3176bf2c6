import type { StepUsage, ThinkInput, ThinkResult } from '../../contracts/conversation.ts';
import { stepKey } from '../../contracts/ids.ts';
import type { ThreadRecord } from '../../contracts/records.ts';
import type { Source } from '../../contracts/taint.ts';
import { derivedId } from '../chats/ids.ts';
import { onThread, type ThreadTransaction } from '../chats/thread-transaction.ts';
import { addItem, endItemRow, itemEvent } from '../chats/threads/items.ts';
import { toThreadRecord } from '../chats/threads/threads.ts';
import type { Db } from '../postgres/database.ts';
import { writeStep } from './steps/answer-writes.ts';
import type { StepSubject } from './steps/step-subject.ts';
import { unreadOf, withUsage } from './steps/steps.ts';
import { addSummary } from './steps/transcript.ts';
import { closeTurn, recountEnded, turnState } from './turns.ts';

/** The only step of a turn that sums up what was said before. */

const STARTED = 'Manual context compaction started';
const itemOf = (turnId: string): string => derivedId('item_', turnId, 'compaction');

/** Shows that it begins; a second attempt shows nothing again. */
export async function beginCompaction(db: Db, { turnId, threadId }: ThinkInput): Promise<void> {
  await onThread(db, threadId, async (tx) => {
    const item = {
      id: itemOf(turnId),
      turnId,
      threadId,
      kind: 'context_compaction',
      status: 'in_progress',
      summary: STARTED,
      detail: STARTED,
    } as const;
    if (await addItem(tx, { ...item, announce: { auto: false } }))
      await tellCoherence(tx, turnId, 'refreshing_context', STARTED);
  });
}

interface Compaction {
  /** null: there was nothing to sum up */
  summary: { upto: number; body: string; sources: readonly Source[] } | null;
  before: number;
  after: number;
  model: string;
  usage: StepUsage;
}

/**
 * Stores the summary, what it cost, and the end of the turn. A message that came meanwhile is answered in this turn, by
 * its next step. A second call returns the first result. `ended`: this call has ended the turn.
 */
export async function storeCompaction(
  db: Db,
  input: ThinkInput,
  subject: StepSubject,
  done: Compaction,
): Promise<{ result: ThinkResult; ended: boolean }> {
  const { turnId, threadId } = input;
  return await onThread(db, threadId, async (tx) => {
    const stored = await tx.now
      .selectFrom('steps')
      .select('result')
      .where('key', '=', stepKey(turnId, input.step))
      .executeTakeFirst();
    if (stored) return { result: stored.result, ended: false };
    const state = (await turnState(tx.now, turnId))!;
    const open = state.turn.status === 'in_progress';
    // the interrupt may have come first: the summary is paid for, and the person has stopped it
    const newer = open
      ? await tx.now
          .selectFrom('transcript')
          .select('id')
          .where('turn_id', '=', turnId)
          .where('role', '=', 'user')
          .execute()
      : [];
    if (open && done.summary)
      await addSummary(tx.now, threadId, done.summary.upto, done.summary.body, done.summary.sources);
    if (open) await showEnd(tx, turnId, done);
    const next: ThinkResult['next'] = newer.length > 0 ? 'continue' : 'closed';
    const result: ThinkResult = { next, calls: [], autonomy: subject.autonomy, autoApprove: false, usage: done.usage };
    const answer = {
      text: '',
      calls: [],
      model: done.model,
      usage: done.usage,
      readUpto: 0,
      item: { id: itemOf(turnId), begun: true, rest: '' },
    };
    writeStep(tx, input, subject, answer, result, await unreadOf(tx.now, turnId, newer));
    const ended = open && next === 'closed';
    // its item has ended above
    const items = state.items.map((item) =>
      item.id === itemOf(turnId) ? { ...item, status: 'completed' as const } : item,
    );
    if (ended) await closeTurn(tx, withUsage({ ...state, items }, answer), 'completed');
    if (!open) await recountEnded(tx, turnId);
    return { result, ended };
  });
}

async function showEnd(tx: ThreadTransaction, turnId: string, { before, after }: Compaction): Promise<void> {
  const text = `Compaction complete: ${before} → ${after} messages (${before - after} removed)`;
  const item = await endItemRow(tx.now, itemOf(turnId), { status: 'completed', summary: text, detail: text });
  const counts = { auto: false, messages_before: before, messages_after: after };
  if (item) tx.append(itemEvent(item, counts));
  await tellCoherence(tx, turnId, 'healthy', text);
}

const COHERENCE = {
  refreshing_context: {
    label: 'refreshing context',
    description: 'The engine is refreshing context before continuing.',
  },
  healthy: { label: 'healthy', description: 'The session is stable and focused.' },
} as const;

async function tellCoherence(
  tx: ThreadTransaction,
  turnId: string,
  state: ThreadRecord['coherence_state'],
  reason: string,
): Promise<void> {
  const row = await tx.now.selectFrom('threads').selectAll().where('id', '=', tx.threadId).executeTakeFirstOrThrow();
  tx.append({
    event: 'coherence.state',
    turnId,
    payload: { state, ...COHERENCE[state], reason, thread: { ...toThreadRecord(row), coherence_state: state } },
  });
}
