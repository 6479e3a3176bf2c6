import { stepKey } from '../../src/contracts/ids.ts';
import { derivedId } from '../../src/store/chats/ids.ts';
import { onThread } from '../../src/store/chats/thread-transaction.ts';
import { addItem } from '../../src/store/chats/threads/items.ts';
import type { Db } from '../../src/store/postgres/database.ts';
import { remember } from '../../src/store/turns/steps/transcript.ts';
import { closeTurn, openTurn, turnState } from '../../src/store/turns/turns.ts';

/**
 * A turn that has ended: what a person said, what the model answered, and what that used. No worker takes part. Returns
 * its id.
 */
export async function saidTurn(
  db: Db,
  threadId: string,
  text: string,
  answer: string,
  used = { input: 100, output: 20, microUsd: 0 },
): Promise<string> {
  return await onThread(db, threadId, async (tx) => {
    const { id: turnId } = openTurn(tx, { text });
    await tx.sendPending();
    const step = {
      key: stepKey(turnId, 1),
      turn_id: turnId,
      step: 1,
      model: 'm',
      result: '{}',
      micro_usd: used.microUsd,
    };
    await tx.now
      .insertInto('steps')
      .values({ ...step, input_tokens: used.input, output_tokens: used.output })
      .execute();
    await addItem(tx, {
      id: derivedId('item_', turnId, 'said'),
      turnId,
      threadId,
      kind: 'agent_message',
      status: 'completed',
      summary: answer,
      detail: answer,
    });
    remember(tx, { id: derivedId('msg_', turnId, 'said'), turnId, role: 'assistant', content: answer });
    await tx.sendPending();
    await closeTurn(tx, (await turnState(tx.now, turnId))!, 'completed');
    return turnId;
  });
}
