import type { Told } from '../../../../domain/texts/say.ts';
import { attachmentId } from '../../../../store/chats/messages/attachments.ts';
import { countAttempt, type Waiting } from '../../../../store/whatsapp/inbox.ts';
import { AttachmentReader, type Prepared } from '../../../intake/attachments.ts';
import type { AnsweredMessage } from '../../../intake/message.ts';
import { type PendingMessage, questionOf } from '../../shared/pending.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import type { Admitted } from './admit.ts';
import { albumIdOf } from './albums.ts';
import { type Content, idOf, writtenAt } from './decode.ts';
import { loadMedia, mediaProblemText, uploadedAgain } from './download.ts';

type Media = Extract<Content, { kind: 'media' }>;

interface PrepareDeps extends WhatsAppDeps {
  live: CurrentLive;
  /** a file is loaded, or will not come */
  onPrepared(): void;
  /** a file could not be prepared, for a reason that may pass */
  failed(row: Waiting, error: unknown): Promise<unknown>;
  /** answers in a chat without the model */
  respond(threadId: string, said: string, body: AnsweredMessage['body'], channelMessageId: string): Promise<void>;
}

/** A file that was begun this often and never finished is stored unopened, because it may kill the process. */
const GIVEN_UP_AFTER = 3;

/** Makes messages ready for their chats: each waits there while its file is loaded and read. */
export class Preparer {
  private readonly deps: PrepareDeps;
  private readonly attachments: AttachmentReader;
  private readonly stopping = new AbortController();

  constructor(deps: PrepareDeps) {
    this.deps = deps;
    this.attachments = new AttachmentReader({ ...deps, problemText: mediaProblemText });
  }

  /** Cancels loading; the messages stay in the table. */
  stop(): void {
    this.stopping.abort();
  }

  /** The message as it waits in its chat, while its file is loaded. */
  pendingOf(it: Admitted, threadId: string): PendingMessage {
    const { row, message, author, by, approver, text, old, late, quoted, quotesOthers, ofOthers, address } = it;
    const { content } = message;
    const given = new AbortController();
    const questionId = ofOthers === null ? questionOf(quoted, address, text) : null;
    const pending: PendingMessage = {
      seq: row.seq,
      id: idOf(message),
      chat: message.key.chat,
      author,
      name: message.name,
      by,
      approver,
      text,
      // when only the trigger was written, the quote is the text
      quoted: ofOthers === 'quoted' ? null : (message.quoted?.text ?? null),
      quotesOthers,
      ofOthers,
      bare: content.kind === 'text' && ofOthers === null,
      announces: content.kind === 'album' ? content.expects : null,
      album: albumIdOf(message),
      pictured: content.kind === 'media' && (content.media.kind === 'image' || content.media.kind === 'video'),
      apart: false,
      questionId,
      elsewhere: message.quoted !== null && questionId === null,
      sentAt: message.at,
      writtenAt: writtenAt(message),
      at: Date.now(),
      old,
      late,
      prepared: content.kind === 'media' ? null : { text, attachmentIds: [], tell: null },
      drop: () => given.abort(),
    };
    if (content.kind === 'media')
      this.wait(pending, it, threadId, content, AbortSignal.any([given.signal, this.stopping.signal]));
    return pending;
  }

  private wait(pending: PendingMessage, it: Admitted, threadId: string, content: Media, signal: AbortSignal): void {
    const apart = () => {
      pending.apart = true;
    };
    this.prepare(it, threadId, content, signal, apart)
      .then(
        (prepared) => {
          pending.prepared = prepared;
        },
        async (error) => {
          if (!signal.aborted) await this.deps.failed(it.row, error);
        },
      )
      .catch(() => {})
      .finally(this.deps.onPrepared);
  }

  private async prepare(
    { row, message, text }: Admitted,
    threadId: string,
    content: Media,
    signal: AbortSignal,
    apart: () => void,
  ): Promise<Prepared> {
    const { db, config, live, respond } = this.deps;
    const { key } = message;
    let { media } = content;
    await countAttempt(db, row.seq);
    return await this.attachments.prepare(
      {
        id: attachmentId(key.account, key.chat, key.participant, String(key.fromMe), key.messageId),
        threadId,
        text,
        file: content.media,
        unopened: row.attempts >= GIVEN_UP_AFTER,
        load: (loading) => loadMedia(media, { host: config.WA_MEDIA_HOST, signal: loading }),
        askAgain: async (waiting) => {
          apart();
          const again = await uploadedAgain({ key, content: content.message }, { live, signal: waiting });
          media = again ?? media;
          return again !== null;
        },
        onLongRecording: (seconds) =>
          respond(threadId, '[a voice note]', listeningFor(seconds), `${idOf(message)}/listening`),
      },
      signal,
    );
  }
}

const listeningFor =
  (seconds: number): Told =>
  (say) =>
    say('file.listening', {
      length: `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`,
    });
