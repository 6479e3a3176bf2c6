import type { Arrival } from '../contracts/conversation.ts';
import type { TurnRecord } from '../contracts/records.ts';
import { appendEvents } from '../store/chats/events.ts';
import { steerItemId } from '../store/chats/ids.ts';
import type { Tx } from '../store/postgres/database.ts';
import type { Heard } from '../store/steps/transcript.ts';
import { activeTurn, countSteer, toTurnRecord } from '../store/turns/turns.ts';
import { addUserItem } from '../store/turns/user-items.ts';
import { IntakeError } from './intake-error.ts';
import type { MessageId } from './message.ts';
import { once } from './once.ts';
import type { IntakeDeps } from './signal.ts';
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
    await requireActive(tx, threadId, turnId);
    return { arrival: await addSteer(tx, { threadId, turnId, inboxId, text: prompt }), turnId };
  });
  return requireTurn(deps.db, turnId);
}

export async function interrupt(deps: IntakeDeps, request: InterruptRequest): Promise<TurnRecord> {
  const { threadId, turnId, channelMessageId: id } = request;
  // as it was when the interrupt was accepted
  let active: TurnRecord | undefined;
  await once(deps, { threadId, id, body: '' }, async (tx, { inboxId }) => {
    active = await toTurnRecord(tx, await requireActive(tx, threadId, turnId));
    return { arrival: await addStop(tx, { threadId, turnId, inboxId }), turnId };
  });
  return active ?? requireTurn(deps.db, turnId);
}

/** Adds a message to a running turn, whose next model step reads it. The caller holds `lockThread`. */
export async function addSteer(
  tx: Tx,
  steering: { threadId: string; turnId: string; inboxId: string; text: string; heard?: Heard },
): Promise<Extract<Arrival, { kind: 'steer' }>> {
  const { threadId, turnId, inboxId, text, heard } = steering;
  await countSteer(tx, turnId);
  const itemId = steerItemId(inboxId);
  await appendEvents(tx, threadId, [{ event: 'turn.steered', turnId, itemId, payload: { thread_id: threadId, turn_id: turnId, input: text } }]);
  await addUserItem(tx, { id: itemId, turnId, threadId, text, announceStart: false, heard });
  return { kind: 'steer', inboxId, turnId };
}

/** Records that a running turn must stop. The caller holds `lockThread`. */
export async function addStop(tx: Tx, stop: { threadId: string; turnId: string; inboxId: string }): Promise<Arrival> {
  const { threadId, turnId, inboxId } = stop;
  await appendEvents(tx, threadId, [{ event: 'turn.interrupt_requested', turnId, payload: { thread_id: threadId, turn_id: turnId } }]);
  return { kind: 'stop', inboxId, turnId };
}

async function requireActive(tx: Tx, threadId: string, turnId: string): Promise<NonNullable<Awaited<ReturnType<typeof activeTurn>>>> {
  const active = await activeTurn(tx, threadId);
  if (!active) throw new IntakeError('conflict', `No active turn on thread ${threadId}`);
  if (active.id !== turnId) throw new IntakeError('conflict', `Turn ${turnId} is not active on thread ${threadId}`);
  return active;
}
