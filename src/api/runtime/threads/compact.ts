import { z } from 'zod';
import { requestKey } from '../../http/request-key.ts';
import { compactThreadRequest, given } from '../shared/bodies.ts';
import { endpoint } from '../shared/endpoint.ts';
import { threadRecord, turnRecord } from '../shared/record-schemas.ts';
import { existingThread } from './threads.ts';

export const postCompact = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/compact',
  summary: 'Sum up what was said before the last message, in a turn of its own',
  body: compactThreadRequest,
  answer: {
    status: 202,
    schema: z.object({ thread: threadRecord, turn: turnRecord }),
    what: 'The turn; the same for the same Idempotency-Key.',
  },
  refusals: { 404: 'There is no such thread.', 409: 'A turn runs on this thread.' },
  handle: async ({ ctx, params: { id }, body }, deps) => {
    await existingThread(id, deps);
    return await deps.intake.compact({
      threadId: id,
      reason: given(body.reason),
      channelMessageId: requestKey(ctx, 'compact', body),
    });
  },
});
