import type { ThinkInput } from '../contracts/conversation.ts';
import { stepKey } from '../contracts/ids.ts';
import type { Db } from './database.ts';
import { onThread } from './events.ts';
import { addItem } from './items.ts';
import { derivedId } from './keys.ts';

/** Tells, once for a step, what the person is waiting for. */
export async function tellWaiting(db: Db, input: ThinkInput, why: string): Promise<void> {
  await note(db, input, derivedId('item_', stepKey(input.turnId, input.step), 'waiting'), `Still waiting for the model, trying again: ${why}`);
}

/** Tells, once for a turn, that a restart delayed it. */
export async function tellDelay(db: Db, input: ThinkInput): Promise<void> {
  await note(db, input, derivedId('item_', input.turnId, 'delay'), 'A restart held this up; going on where it stopped.');
}

async function note(db: Db, input: ThinkInput, id: string, text: string): Promise<void> {
  await onThread(db, input.threadId, async (tx) => {
    await addItem(tx, { id, turnId: input.turnId, threadId: input.threadId, kind: 'status', status: 'completed', summary: text, detail: text });
  });
}
