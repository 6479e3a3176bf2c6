import type { ThreadRecord } from '../../../contracts/records.ts';
import { chatKey } from '../../../store/chats/ids.ts';
import { copyThread, GroupThread, type ThreadCopy } from '../../../store/turns/copy-thread.ts';
import { ApiError, threadNotFound } from '../../errors/errors.ts';
import { isId, requestKey } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../shared/endpoint.ts';
import { threadRecord } from '../shared/record-schemas.ts';
import { existingThread } from './threads.ts';

const missing = { 404: 'There is no such thread.' };

export const postResume = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/resume',
  summary: 'Read a thread that will be used again; a body is ignored',
  answer: { schema: threadRecord, what: 'The thread as it is: nothing has to be loaded for its next turn.' },
  refusals: missing,
  handle: async ({ params: { id } }, deps) => await existingThread(id, deps),
});

export const postFork = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/fork',
  summary: 'Copy a thread with all that was said and done in it; a body is ignored',
  answer: {
    status: 201,
    schema: threadRecord,
    what: 'The copy; the same for the same Idempotency-Key. A turn that runs has ended there as interrupted.',
  },
  refusals: { ...missing, 400: 'It is a group chat, whose words stay there.' },
  handle: async ({ ctx, params: { id } }, deps) => {
    if (!isId(id)) throw threadNotFound(id);
    return await copyOf(deps, {
      source: id,
      settings: ({ model, workspace, mode, allow_shell, trust_mode, auto_approve, system_prompt, title }) => ({
        model,
        workspace,
        mode,
        allow_shell,
        trust_mode,
        auto_approve,
        system_prompt,
        title,
      }),
      key: requestKey(ctx, `fork ${id}`, null),
      announce: (tx, { thread, sourceId }) =>
        tx.append({ event: 'thread.forked', payload: { thread, source_thread_id: sourceId } }),
    });
  },
});

/** @throws ApiError 400 for a group */
export async function copyOf(
  { store, chatSecret }: Pick<RuntimeDeps, 'store' | 'chatSecret'>,
  copy: Omit<ThreadCopy, 'chatKey'>,
): Promise<ThreadRecord> {
  try {
    return await copyThread(store.db, { ...copy, chatKey: (address) => chatKey(chatSecret ?? '', 'api', address) });
  } catch (error) {
    throw error instanceof GroupThread ? new ApiError(400, error.message) : error;
  }
}
