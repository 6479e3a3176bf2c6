import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { isPdf, pdfText } from '../../adapters/pdf/pdf.ts';
import { pictureFor } from '../../adapters/pictures.ts';
import { SpeechError, type Transcriber, transcribe, transcribers } from '../../adapters/speech.ts';
import { decodePage } from '../../adapters/web/page-encoding.ts';
import type { Config } from '../../config.ts';
import type { FileKind } from '../../domain/text/files.ts';
import type { Told } from '../../domain/texts/say.ts';
import { type AttachmentRecord, findAttachment, saveAttachment } from '../../store/chats/messages/attachments.ts';
import type { Db } from '../../store/postgres/database.ts';
import { sanitiseText } from './sanitise.ts';

const TEXT_BYTES = 2 * 1024 * 1024;
const TEXT_CHARS = 200_000;

/** The text of a document: of a PDF, or of a file that is text; null for everything else. */
export async function documentText(data: Buffer, signal: AbortSignal): Promise<string | null> {
  if (!isPdf(data)) return textFor(data) ?? (await olderTextFor(data));
  const text = await pdfText(data, signal);
  return text && sanitiseText(text, TEXT_CHARS);
}

/** The text of a document that is text, whatever its declared type; null for everything else. */
export function textFor(data: Buffer): string | null {
  if (data.length === 0 || data.length > TEXT_BYTES) return null;
  const begins = data.toString('hex', 0, 2);
  const marked = begins === 'fffe' ? 'utf-16le' : begins === 'feff' ? 'utf-16be' : null;
  if (!marked && data.subarray(0, 8192).includes(0)) return wideTextFor(data);
  const text = decoded(data, marked ?? 'utf-8');
  return text === null ? null : sanitiseText(text, TEXT_CHARS);
}

/** UTF-16 without a mark, which programs on Windows write; null for bytes that are no text. */
function wideTextFor(data: Buffer): string | null {
  const strange = /[\0-\x08\x0e-\x1f\x7f-\x9f\p{Cn}\p{Co}]/u;
  const [text] = ['utf-16le', 'utf-16be']
    .flatMap((encoding) => decoded(data, encoding) ?? [])
    .filter((each) => !strange.test(each) && plainChars(each) > 0)
    .sort((one, other) => plainChars(other) - plainChars(one));
  return text === undefined ? null : sanitiseText(text, TEXT_CHARS);
}

/** Control characters that no text has. */
const NO_TEXT = /[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/;
/** Fewer bytes are no evidence of an encoding. */
const EVIDENCE = 8;

/** Text in an encoding of before Unicode, as spreadsheets still write; null for bytes that are no text. */
async function olderTextFor(data: Buffer): Promise<string | null> {
  if (data.length < EVIDENCE || data.length > TEXT_BYTES || NO_TEXT.test(data.toString('latin1'))) return null;
  const start = data.subarray(0, 2 * TEXT_CHARS);
  const text = await decodePage(start, 'text/plain', start.length < data.length);
  return text.includes('\ufffd') ? null : sanitiseText(text, TEXT_CHARS);
}

const plainChars = (text: string): number => text.match(/[\t-\r -~]/g)?.length ?? 0;

function decoded(data: Buffer, encoding: string): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(data);
  } catch {
    return null;
  }
}

/** A message with its file, ready for the conversation. */
export interface Prepared {
  /** empty when there is nothing for the model */
  text: string;
  attachmentIds: string[];
  /** shown to the person before the answer: the words of a recording, or a problem */
  tell: Told | null;
}

/** Facts about a file before it is loaded. */
export interface FileFacts {
  kind: FileKind;
  mime: string;
  /** file name of a document */
  name: string | null;
  /** a recording made to be listened to, not an audio file */
  voice: boolean;
  seconds: number;
}

interface FileMessage {
  /** id of the attachment, the same at every attempt */
  id: string;
  threadId: string;
  /** the text that came with the file, without the trigger */
  text: string;
  file: FileFacts;
  /** store the file without reading it */
  unopened: boolean;
  /** Loads the file. @throws FileError */
  load(signal: AbortSignal): Promise<Buffer>;
  /** Asks the sender for a file that has expired; true when it can be loaded now. */
  askAgain?(signal: AbortSignal): Promise<boolean>;
  /** called when transcribing will take a while */
  onLongRecording(seconds: number): Promise<void>;
}

/** Why a file cannot be loaded. `away`: a later attempt may work. */
export type FileProblem = 'too_large' | 'expired' | 'tampered' | 'unreadable' | 'away';
export class FileError extends Error {
  readonly problem: FileProblem;
  constructor(problem: FileProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'FileError';
    this.problem = problem;
  }
}

interface AttachmentDeps {
  db: Db;
  config: Config;
  log: Pick<Logger, 'warn'>;
  /** what a person is told about a file that cannot be loaded */
  problemText(problem: FileProblem, kind: FileFacts['kind']): Told;
}

/** A longer recording is announced, because nothing else shows that it is being transcribed. */
const LONG_RECORDING_S = 60;
/** A file is held in memory while it is checked. */
const LOADS_AT_ONCE = 2;

/** Loads, stores and reads the files of messages. */
export class AttachmentReader {
  private readonly deps: AttachmentDeps;
  private readonly loading = pLimit(LOADS_AT_ONCE);
  private readonly listening = pLimit(1);
  private transcribers: Promise<Transcriber[]> | undefined;

  constructor(deps: AttachmentDeps) {
    this.deps = deps;
  }

  async prepare(message: FileMessage, signal: AbortSignal): Promise<Prepared> {
    const { id, file, text } = message;
    try {
      const kept = await findAttachment(this.deps.db, id);
      if (kept) return withFile(message, kept);
      return await this.opened(message, signal).catch(async (error) => {
        // others load their files while the sender is waited for
        const expired = error instanceof FileError && error.problem === 'expired';
        if (!expired || !(await message.askAgain?.(signal))) throw error;
        return await this.opened(message, signal);
      });
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      const { problem, message: reason } = error;
      this.deps.log.warn({ problem, reason, kind: file.kind }, 'a file could not be loaded');
      // the text beside it still counts; the model is told that the file is missing
      const missing = `[The ${nameOf(file)} that came with this could not be loaded: ${problem.replace('_', ' ')}.]`;
      return {
        text: text && `${text}\n${missing}`,
        attachmentIds: [],
        tell: this.deps.problemText(problem, file.kind),
      };
    }
  }

  private opened(message: FileMessage, signal: AbortSignal): Promise<Prepared> {
    return message.file.kind === 'audio'
      ? this.listen(message, signal)
      : this.loading(() => this.read(message, signal));
  }

  private async read(message: FileMessage, signal: AbortSignal): Promise<Prepared> {
    const { file, unopened } = message;
    const data = await message.load(signal);
    const preview = file.kind === 'image' && !unopened ? await pictureFor(data) : null;
    const text = file.kind === 'document' && !unopened ? await documentText(data, signal) : null;
    return await this.keep(message, data, { preview, text });
  }

  private async listen(message: FileMessage, signal: AbortSignal): Promise<Prepared> {
    this.transcribers ??= transcribers(this.deps.config);
    const all = await this.transcribers;
    const problem = (tell: Told): Prepared => ({ text: message.text, attachmentIds: [], tell });
    if (all.length === 0) return problem((say) => say('file.deaf'));
    if (message.unopened) return problem((say) => say('file.notOpened'));
    return await this.listening(async () => {
      const { mime, seconds } = message.file;
      const audio = await message.load(signal);
      if (seconds > LONG_RECORDING_S) await message.onLongRecording(seconds);
      try {
        const text = await transcribe(all, { audio, mime, seconds }, signal);
        if (!text) return problem((say) => say('file.noWords'));
        return await this.keep(message, audio, { preview: null, text: sanitiseText(text) });
      } catch (error) {
        if (!(error instanceof SpeechError)) throw error;
        this.deps.log.warn({ reason: error.message }, 'a recording could not be transcribed');
        return problem((say) => say('file.notHeard', { why: error.message }));
      }
    });
  }

  private async keep(
    message: FileMessage,
    data: Buffer,
    read: { preview: Buffer | null; text: string | null },
  ): Promise<Prepared> {
    const { id, threadId } = message;
    const { kind, mime, name } = message.file;
    await saveAttachment(this.deps.db, { id, threadId, kind, mime, name, data, ...read });
    return withFile(message, { id, kind, mime, name, size: data.length, text: read.text });
  }
}

type Kept = Pick<AttachmentRecord, 'id' | 'kind' | 'mime' | 'name' | 'size' | 'text'>;

/** The text of a message with what is said of its file. */
export function withFile(
  { text, file }: { text: string; file: Pick<FileFacts, 'kind' | 'name' | 'voice'> },
  kept: Kept,
): Prepared {
  if (kept.kind === 'audio' && kept.text) {
    const words = text ? `${text}\n${kept.text}` : kept.text;
    const heard = kept.text;
    return {
      text: words,
      attachmentIds: [kept.id],
      tell: file.voice ? (say) => say('file.heard', { words: heard }) : null,
    };
  }
  const line = `[${nameOf(file)}, ${sizeOf(kept.size)}]`;
  return { text: text ? `${text}\n${line}` : line, attachmentIds: [kept.id], tell: null };
}

const nameOf = ({ kind, name, voice }: Pick<FileFacts, 'kind' | 'name' | 'voice'>): string =>
  kind === 'image'
    ? 'picture'
    : kind === 'video'
      ? 'video'
      : kind === 'audio'
        ? voice
          ? 'voice note'
          : 'recording'
        : `document ${name ?? ''}`.trim();

const sizeOf = (bytes: number): string =>
  bytes >= 1024 * 1024 ? `${(bytes / 1024 / 1024).toFixed(1)} MB` : `${Math.max(1, Math.round(bytes / 1024))} kB`;
