import { z } from 'zod';
import { shipWords } from '../../domain/chat/words/ship-words.ts';
import { requestKey } from '../http/request.ts';
import { shipRequest } from './shared/bodies.ts';
import { endpoint } from './shared/endpoint.ts';
import { existingThread } from './threads/threads.ts';

/** A turn whose words say `ship` is the same as the words in the chat: consent, the host's queue, and its answers. */
export const postShip = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/ship',
  summary: 'Make a pull request of a workspace and watch it to its merge, or give an order about the one that is open',
  body: shipRequest,
  bodyOptional: true,
  answer: {
    status: 202,
    schema: z.object({ thread_id: z.string(), turn_id: z.string() }),
    what: 'The turn that does it. It may ask first, and says what came of it.',
  },
  refusals: { 404: 'There is no such thread.', 409: 'A turn runs on it.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    await existingThread(id, deps);
    const order = {
      action: body.action ?? ('start' as const),
      ...(body.title && { title: body.title }),
      ...(body.merge === 'green' && { merge: body.merge }),
      ...(body.workspace && { workspace: body.workspace }),
    };
    const { turn } = await deps.intake.startTurn({
      threadId: id,
      prompt: shipWords(order),
      // a program's wish, which asks as its tool does
      call: { name: 'ship', args: order },
      channelMessageId: requestKey(ctx, `ship ${id}`, body),
    });
    return { thread_id: id, turn_id: turn.id };
  },
});
