import { randomUUID } from 'node:crypto';
import { fileTypeFromBuffer } from 'file-type';
import pLimit from 'p-limit';
import { z } from 'zod';
import { pictureFor } from '../../../adapters/pictures.ts';
import type { Uploaded } from '../../../contracts/owner.ts';
import { FILE_LIMITS } from '../../../domain/text/files.ts';
import { english } from '../../../domain/texts/say.ts';
import { AttachmentReader, type FileFacts, withFile } from '../../../gateway/intake/attachments.ts';
import { sanitiseName } from '../../../gateway/intake/sanitise.ts';
import { attachmentId, bytesOfAttachment, findAttachment } from '../../../store/chats/messages/attachments.ts';
import { ApiError, attachmentNotFound } from '../../errors/errors.ts';
import { readBody } from '../../http/body.ts';
import { count, type Fields } from '../../http/endpoint.ts';
import { isId, requestKey } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../shared/endpoint.ts';
import { existingThread } from '../threads/threads.ts';

/** Files are held in memory until they are stored. */
const uploading = pLimit(4);
const MOST_FILES = 10;

const uploaded = z
  .object({
    id: z.string(),
    kind: z.enum(['image', 'document', 'audio', 'video']),
    mime: z.string(),
    name: z.string().nullable(),
    size: count(),
  } satisfies Fields<Uploaded>)
  .meta({ id: 'Uploaded' });

export const postAttachment = endpoint({
  method: 'POST',
  path: '/v1/threads/{id}/attachments',
  summary: 'Upload a file for the next message of a thread',
  query: { name: z.string().max(4_000).describe('Name of the file') },
  upload: 'The file, with its content type: a picture, a document, a recording or a video',
  answer: { status: 201, schema: uploaded, what: 'Its id goes into `attachment_ids` of a message.' },
  refusals: { 404: 'There is no such thread.', 415: 'The file is not of the kind that it is said to be.' },
  handle: async ({ ctx, params: { id: threadId }, query }, deps) => {
    await existingThread(threadId, deps);
    const key = requestKey(ctx, `upload ${threadId}`, query.name ?? null);
    return await uploading(async () => {
      const data = await readBody(ctx.req, Math.max(...Object.values(FILE_LIMITS)));
      return await keep(
        deps,
        { id: attachmentId('api', threadId, key.fingerprint === null ? randomUUID() : key.id), threadId, data },
        ctx.get('content-type'),
        query.name,
      );
    });
  },
});

interface Arrived {
  id: string;
  threadId: string;
  data: Buffer;
}

async function keep(
  deps: RuntimeDeps,
  { id, threadId, data }: Arrived,
  declared: string,
  given: string | undefined,
): Promise<Uploaded> {
  if (data.length === 0) throw new ApiError(400, 'The file is empty');
  const { kind, mime } = await kindOf(data, declared);
  if (data.length > FILE_LIMITS[kind])
    throw new ApiError(
      413,
      `That file is too large: at most ${FILE_LIMITS[kind] / 1024 / 1024} MB of a ${kind} are taken`,
    );
  if (kind === 'image' && (await pictureFor(data)) === null)
    throw new ApiError(415, 'That picture cannot be opened: it is broken, too large to show, or of an unusual kind');
  const file = { kind, mime, name: nameOf(given), voice: false, seconds: 0 };
  const reader = new AttachmentReader({
    db: deps.store.db,
    config: deps.config,
    log: deps.log ?? { warn: () => {} },
    problemText: (problem) => () => problem,
  });
  const message = {
    id,
    threadId,
    text: '',
    file,
    unopened: false,
    load: async () => data,
    onLongRecording: async () => {},
  };
  const prepared = await reader.prepare(message, AbortSignal.timeout(300_000));
  const kept = prepared.attachmentIds.length > 0 ? await findAttachment(deps.store.db, id) : undefined;
  // a recording that nothing can turn into words
  if (!kept) throw new ApiError(415, prepared.tell?.(english) ?? 'That file cannot be read');
  return { id, kind: kept.kind, mime: kept.mime, name: kept.name, size: kept.size };
}

const MIME = /^[\w.+-]{1,60}\/[\w.+-]{1,100}/;

/** What the bytes are; what they are said to be counts only where bytes do not tell. */
async function kindOf(data: Buffer, declared: string): Promise<Pick<FileFacts, 'kind' | 'mime'>> {
  const said = MIME.exec(declared)?.[0].toLowerCase() ?? 'application/octet-stream';
  const mime = (await fileTypeFromBuffer(data).catch(() => undefined))?.mime ?? null;
  // containers hold either
  if (said.startsWith('audio/') && mime?.startsWith('video/')) return { kind: 'audio', mime: said };
  for (const kind of ['image', 'audio', 'video'] as const) {
    if (mime?.startsWith(`${kind}/`)) return { kind, mime };
    // a drawing is text, and is read as such
    if (mime === null && said.startsWith(`${kind}/`) && said !== 'image/svg+xml')
      throw new ApiError(415, `That is no ${kind === 'image' ? 'picture' : kind}, although it is said to be ${said}`);
  }
  return { kind: 'document', mime: mime ?? said };
}

/** The last part of a path, without what cannot be seen. */
function nameOf(given: string | undefined): string | null {
  const name = sanitiseName(given?.split(/[\\/]/).at(-1));
  return name === '.' || name === '..' ? null : name;
}

/** A message with the files that were uploaded for it. @throws ApiError 400, 404 */
export async function withAttachments(
  deps: RuntimeDeps,
  threadId: string,
  text: string,
  ids: readonly string[] = [],
): Promise<{ text: string; attachmentIds: string[] }> {
  const named = [...new Set(ids)];
  if (named.length > MOST_FILES) throw new ApiError(400, `A message has at most ${MOST_FILES} files`);
  let words = text;
  for (const id of named) {
    const kept = isId(id) ? await findAttachment(deps.store.db, id) : undefined;
    if (kept?.thread_id !== threadId) throw attachmentNotFound(id);
    words = withFile({ text: words, file: { kind: kept.kind, name: kept.name, voice: false } }, kept).text;
  }
  return { text: words, attachmentIds: named };
}

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
