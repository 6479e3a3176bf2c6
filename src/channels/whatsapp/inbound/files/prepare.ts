import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import { HOW_TO_LISTEN, transcribe, transcribers } from '../../../../adapters/speech/speech.ts';
import { SpeechError, type Transcriber } from '../../../../adapters/speech/transcriber.ts';
import { type AttachmentRecord, attachmentId, findAttachment, saveAttachment } from '../../../../store/chats/attachments.ts';
import type { MessageKey } from '../../../../store/whatsapp/inbox.ts';
import type { CurrentLive, WhatsAppDeps } from '../../live.ts';
import type { Content, Media } from '../decode.ts';
import { cleanText } from '../sanitise.ts';
import { loadMedia, MediaError, mediaProblemText } from './download.ts';
import { documentText, pictureFor } from './file-reading.ts';

/** A message with its file, ready to be said. */
export interface Prepared {
  /** '' when there is nothing to say to the model */
  text: string;
  attachmentIds: string[];
  /** shown to the person before the answer: what was heard, or what is wrong */
  tell: string | null;
}
export interface FileMessage {
  key: MessageKey;
  threadId: string;
  /** what was written beside the file, without the trigger */
  text: string;
  content: Extract<Content, { kind: 'media' }>;
  /** keep the file without looking into it */
  unopened: boolean;
  /** told that listening takes a while */
  onLongRecording(seconds: number): Promise<void>;
}
export type Preparer = (message: FileMessage, signal: AbortSignal) => Promise<Prepared>;

/** A recording that is longer is announced, because nothing else shows that somebody listens. */
const LONG_RECORDING_S = 60;
const AGAIN_MS = [1_000, 4_000];

/** Loads, checks, keeps and reads what comes with messages. Few at a time: a file is in memory as a whole while it is checked. */
export function createPreparer({ db, config, log, live }: WhatsAppDeps & { live: CurrentLive }): Preparer {
  const loading = pLimit(2);
  const listening = pLimit(1);
  let ears: Promise<Transcriber[]> | undefined;

  const load = async ({ key, content }: FileMessage, signal: AbortSignal): Promise<Buffer> => {
    for (let attempt = 0; ; attempt++) {
      try {
        return await loadMedia(content.media, { key, content: content.message }, { host: config.WA_MEDIA_HOST, signal, live });
      } catch (error) {
        const wait = AGAIN_MS[attempt];
        if (!(error instanceof MediaError && error.problem === 'away') || wait === undefined) throw error;
        await pause(wait, undefined, { signal });
      }
    }
  };

  const listen = async (message: FileMessage, id: string, signal: AbortSignal): Promise<Prepared> => {
    ears ??= transcribers(config);
    const all = await ears;
    const { media } = message.content;
    const problem = (tell: string): Prepared => ({ text: message.text, attachmentIds: [], tell });
    if (all.length === 0) return problem(HOW_TO_LISTEN);
    if (message.unopened) return problem('I could not open that recording. Please write it, or send it again.');
    return await listening(async () => {
      const audio = await load(message, signal);
      if (media.seconds > LONG_RECORDING_S) await message.onLongRecording(media.seconds);
      try {
        const text = await transcribe(all, { audio, mime: media.mime, seconds: media.seconds }, signal);
        if (!text) return problem('I could not hear any words in that recording.');
        return await keep(message, id, audio, { preview: null, text: cleanText(text) });
      } catch (error) {
        if (!(error instanceof SpeechError)) throw error;
        log.warn({ reason: error.message }, 'a recording could not be transcribed');
        return problem(`I could not turn that recording into text (${error.message}). Please write it, or send it again later.`);
      }
    });
  };

  const keep = async (message: FileMessage, id: string, data: Buffer, read: { preview: Buffer | null; text: string | null }): Promise<Prepared> => {
    const { kind, mime, name } = message.content.media;
    await saveAttachment(db, { id, threadId: message.threadId, kind, mime, name, data, ...read });
    return said(message, { id, kind, mime, name, size: data.length, text: read.text });
  };

  return async (message, signal) => {
    const { key, content, text, unopened } = message;
    const { media } = content;
    const id = attachmentId(key.account, key.chat, key.participant, String(key.fromMe), key.messageId);
    try {
      const kept = await findAttachment(db, id);
      if (kept) return said(message, kept);
      if (media.kind === 'audio') return await listen(message, id, signal);
      return await loading(async () => {
        const data = await load(message, signal);
        const preview = media.kind === 'image' && !unopened ? await pictureFor(data) : null;
        const written = media.kind === 'document' && !unopened ? await documentText(data, signal) : null;
        return await keep(message, id, data, { preview, text: written });
      });
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      log.warn({ problem: error.problem, reason: error.message, kind: media.kind }, 'a file could not be loaded');
      // what was written beside it still counts; the model knows that the file is missing
      const missing = `[The ${nameOf(media)} that came with this could not be loaded: ${error.problem.replace('_', ' ')}.]`;
      return { text: text && `${text}\n${missing}`, attachmentIds: [], tell: mediaProblemText(error.problem, media.kind) };
    }
  };
}

type Kept = Pick<AttachmentRecord, 'id' | 'kind' | 'mime' | 'name' | 'size' | 'text'>;

function said({ text, content }: FileMessage, kept: Kept): Prepared {
  const { media } = content;
  if (kept.kind === 'audio' && kept.text) {
    const words = text ? `${text}\n${kept.text}` : kept.text;
    return { text: words, attachmentIds: [kept.id], tell: media.voice ? `I heard: “${kept.text}”` : null };
  }
  const line = `[${nameOf(media)}, ${sizeOf(kept.size)}]`;
  return { text: text ? `${text}\n${line}` : line, attachmentIds: [kept.id], tell: null };
}

const nameOf = ({ kind, name, voice }: Media): string =>
  kind === 'image' ? 'picture' : kind === 'video' ? 'video' : kind === 'audio' ? (voice ? 'voice note' : 'recording') : `document ${name ?? ''}`.trim();

const sizeOf = (bytes: number): string => (bytes >= 1024 * 1024 ? `${(bytes / 1024 / 1024).toFixed(1)} MB` : `${Math.max(1, Math.round(bytes / 1024))} kB`);
