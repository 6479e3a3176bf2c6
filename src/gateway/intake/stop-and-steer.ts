import type { Arrival } from '../../contracts/conversation.ts';
import type { TurnRecord } from '../../contracts/records.ts';
import { steerItemId } from '../../store/chats/ids.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import type { WriteBatch } from '../../store/chats/write-batch.ts';
import type { Tx } from '../../store/postgres/database.ts';
import type { Heard } from '../../store/turns/steps/transcript.ts';
import {
  activeTurn,
  addUserItem,
  type Before,
  countSteer,
  rememberBefore,
  toTurnRecord,
} from '../../store/turns/turns.ts';
import type { MessageId } from './message.ts';
import { once } from './once.ts';
import { type IntakeDeps, IntakeError } from './signal.ts';
import { requireTurn } from './turns.ts';

export interface InterruptRequest {
  threadId: string;
  turnId: string;
  channelMessageId: MessageId;
}

export interface SteerRequest extends InterruptRequest {
  prompt: string;
}

export async function steer(deps: IntakeDeps, request: SteerRequest): Promise<TurnRecord> {
  const { threadId, turnId, prompt, channelMessageId: id } = request;
  await once(deps, { threadId, id, body: prompt }, async (tx, { inboxId }) => {
    await requireActive(tx.now, threadId, turnId);
    return { arrival: await addSteer(tx, { turnId, inboxId, text: prompt }), turnId };
  });
  return requireTurn(deps.db, turnId);
}

export async function interrupt(deps: IntakeDeps, request: InterruptRequest): Promise<TurnRecord> {
  const { threadId, turnId, channelMessageId: id } = request;
  // as it was when the interrupt was accepted
  let active: TurnRecord | undefined;
  await once(deps, { threadId, id, body: '' }, async (tx, { inboxId }) => {
    active = await toTurnRecord(tx.now, await requireActive(tx.now, threadId, turnId));
    return { arrival: addStop(tx, { turnId, inboxId }), turnId };
  });
  return active ?? requireTurn(deps.db, turnId);
}

/** Adds a message to a running turn, whose next model step reads it. */
export async function addSteer(
  tx: ThreadTransaction,
  steering: { turnId: string; inboxId: string; text: string; heard?: Heard; before?: Before | null },
): Promise<Extract<Arrival, { kind: 'steer' }>> {
  const { turnId, inboxId, text, heard, before } = steering;
  await countSteer(tx.now, turnId);
  const itemId = steerItemId(inboxId);
  tx.append({
    event: 'turn.steered',
    turnId,
    itemId,
    payload: { thread_id: tx.threadId, turn_id: turnId, input: text },
  });
  rememberBefore(tx, turnId, before);
  addUserItem(tx, { id: itemId, turnId, text, announceStart: false, heard });
  return { kind: 'steer', inboxId, turnId };
}

/** Records that a running turn must stop. */
export function addStop(batch: WriteBatch, { turnId, inboxId }: { turnId: string; inboxId: string }): Arrival {
  batch.append({ event: 'turn.interrupt_requested', turnId, payload: { thread_id: batch.threadId, turn_id: turnId } });
  return { kind: 'stop', inboxId, turnId };
}

async function requireActive(
  tx: Tx,
  threadId: string,
  turnId: string,
): Promise<NonNullable<Awaited<ReturnType<typeof activeTurn>>>> {
  const active = await activeTurn(tx, threadId);
  if (!active) throw new IntakeError('conflict', `No active turn on thread ${threadId}`);
  if (active.id !== turnId) throw new IntakeError('conflict', `Turn ${turnId} is not active on thread ${threadId}`);
  return active;
}
