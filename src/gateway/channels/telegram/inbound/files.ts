import type { Logger } from 'pino';
import type { Config } from '../../../../config.ts';
import type { Told } from '../../../../domain/texts/say.ts';
import { attachmentId } from '../../../../store/chats/messages/attachments.ts';
import type { Db } from '../../../../store/postgres/database.ts';
import { beginUpdate, type WaitingUpdate } from '../../../../store/telegram/inbox.ts';
import { AttachmentReader, FileError, type FileProblem } from '../../../intake/attachments.ts';
import type { PendingMessage } from '../../shared/pending.ts';
import { MOST_BYTES, type TelegramApi, TelegramError } from '../api.ts';
import type { IncomingFile } from './decode.ts';

interface LoaderDeps {
  db: Db;
  config: Config;
  log: Logger;
  api: TelegramApi;
  onPrepared(): void;
  /** a file could not be prepared, for a reason that may pass */
  failed(row: WaitingUpdate, error: unknown): Promise<unknown>;
}

/** A file that was begun this often and never finished is stored unopened, because it may kill the process. */
const GIVEN_UP_AFTER = 3;

/** Loads the files of messages, while these wait in their chats. */
export class FileLoader {
  private readonly deps: LoaderDeps;
  private readonly attachments: AttachmentReader;
  private readonly stopping = new AbortController();

  constructor(deps: LoaderDeps) {
    this.deps = deps;
    this.attachments = new AttachmentReader({ ...deps, problemText });
  }

  stop(): void {
    this.stopping.abort();
  }

  load(row: WaitingUpdate, pending: PendingMessage, threadId: string, file: IncomingFile, given: AbortSignal): void {
    const signal = AbortSignal.any([given, this.stopping.signal]);
    this.prepared(row, pending.text, threadId, file, signal)
      .then(
        (prepared) => {
          pending.prepared = prepared;
        },
        async (error) => {
          if (!signal.aborted) await this.deps.failed(row, error);
        },
      )
      .catch(() => {})
      .finally(this.deps.onPrepared);
  }

  private async prepared(row: WaitingUpdate, text: string, threadId: string, file: IncomingFile, signal: AbortSignal) {
    await beginUpdate(this.deps.db, row.seq);
    const id = attachmentId('telegram', row.key);
    const unopened = row.attempts >= GIVEN_UP_AFTER;
    const load = (loading: AbortSignal) => this.bytesOf(file, loading);
    // what is heard is said with the answer
    const onLongRecording = async () => {};
    return await this.attachments.prepare({ id, threadId, text, file, unopened, load, onLongRecording }, signal);
  }

  private async bytesOf({ fileId, bytes }: IncomingFile, signal: AbortSignal): Promise<Buffer> {
    if (bytes !== null && bytes > MOST_BYTES) throw new FileError('too_large', `${bytes} bytes are announced`);
    try {
      return await this.deps.api.file(fileId, signal);
    } catch (error) {
      if (!(error instanceof TelegramError)) throw error;
      const { failure, message } = error;
      if (failure.kind !== 'refused' || failure.code === 429) throw new FileError('away', message);
      throw new FileError(/too big/i.test(failure.description) ? 'too_large' : 'expired', message);
    }
  }
}

const problemText =
  (problem: FileProblem, kind: IncomingFile['kind']): Told =>
  (say) =>
    problem === 'too_large'
      ? say('file.tooLargeTelegram', { kind, most: MOST_BYTES / 1024 / 1024 })
      : say('file.awayTelegram', { kind });
