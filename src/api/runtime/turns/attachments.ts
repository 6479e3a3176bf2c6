import { bytesOfAttachment } from '../../../store/chats/messages/attachments.ts';
import { attachmentNotFound } from '../../errors/texts.ts';
import { isId } from '../../http/path.ts';
import { endpoint } from '../shared/endpoint.ts';

export const getAttachment = endpoint({
  method: 'GET',
  path: '/v1/threads/{id}/attachments/{attachment}',
  summary: 'Read a file of a thread, such as a screenshot that an answer names',
  answer: { written: { type: 'application/octet-stream' }, what: 'The file.' },
  refusals: { 404: 'The thread has no such file.' },
  handle: async ({ ctx, params: { id, attachment } }, { store }) => {
    const file = isId(id) && isId(attachment) ? await bytesOfAttachment(store.db, id, attachment) : undefined;
    if (!file) throw attachmentNotFound(attachment);
    ctx.status = 200;
    // strangers may have sent it, so no page of this origin is made of it
    ctx.set({
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': 'attachment',
      'X-Content-Type-Options': 'nosniff',
    });
    ctx.body = file.data;
  },
});
