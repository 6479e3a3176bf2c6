import { createDecipheriv, createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { proto } from '@whiskeysockets/baileys';
import { FILE_LIMITS } from '../../../../domain/text/files.ts';
import type { Told } from '../../../../domain/texts/say.ts';
import type { MessageKey } from '../../../../store/whatsapp/inbox.ts';
import { FileError, type FileProblem } from '../../../intake/attachments.ts';
import type { CurrentLive } from '../live.ts';
import { type Media, mediaOf } from './media-kinds.ts';

const MEDIA_HOST = 'mmg.whatsapp.net';
const MEGABYTE = 1024 * 1024;
/** Most bytes that are loaded; the sender's claim about the size is never trusted. */
const KEY_INFO: Record<Media['kind'], string> = {
  image: 'WhatsApp Image Keys',
  audio: 'WhatsApp Audio Keys',
  video: 'WhatsApp Video Keys',
  document: 'WhatsApp Document Keys',
};
const MAC_BYTES = 10;
const SILENCE_MS = 20_000;
const WHOLE_MS = 180_000;
/** How long the phone may take to upload a file again. */
const REUPLOAD_MS = 30_000;

/** Messages to a person about a file that cannot be loaded. */
export const mediaProblemText =
  (problem: FileProblem, kind: Media['kind'], limit = FILE_LIMITS[kind]): Told =>
  (say) =>
    problem === 'too_large'
      ? say('file.tooLarge', { kind, most: Math.floor(limit / MEGABYTE) })
      : say(`file.${problem}`, { kind });

interface DownloadOptions {
  /** host:port; no other host is ever asked, whatever a message says */
  host?: string;
  signal: AbortSignal;
  limit?: number;
}

/**
 * Loads and decrypts a file, and returns it only when MAC and both hashes are right. @throws FileError, or the reason
 * of the signal
 */
async function download(
  media: Media,
  { host, signal, limit = FILE_LIMITS[media.kind] }: DownloadOptions,
): Promise<Buffer> {
  if (!media.path) throw new FileError('unreadable', 'the message names no file that could be checked');
  if (media.claimedBytes > limit) throw new FileError('too_large', `${media.claimedBytes} bytes are announced`);
  const controller = new AbortController();
  const silence = timer(SILENCE_MS, () => controller.abort(new FileError('away', 'the media server fell silent')));
  const all = AbortSignal.any([signal, controller.signal, AbortSignal.timeout(WHOLE_MS)]);
  try {
    const response = await ask(media.path, host ?? MEDIA_HOST, all);
    const received = decryptor(media, limit);
    for await (const chunk of response.body ?? []) {
      silence.touch();
      received.add(chunk);
    }
    return received.finish();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FileError) throw error;
    if (controller.signal.reason instanceof FileError) throw controller.signal.reason;
    throw new FileError('away', `the media server cannot be reached: ${(error as Error).message}`, { cause: error });
  } finally {
    silence.stop();
    controller.abort();
  }
}

async function ask(path: string, host: string, signal: AbortSignal): Promise<Response> {
  const url = new URL(`https://${host}`);
  const [pathname, search] = splitOnce(path, '?');
  // assigned and not concatenated, so that no path can name another host
  url.pathname = pathname;
  url.search = search;
  const response = await fetch(url, { signal, redirect: 'error', headers: { origin: 'https://web.whatsapp.com' } });
  if (response.ok) return response;
  await response.body?.cancel();
  if (response.status === 404 || response.status === 410 || response.status === 403)
    throw new FileError('expired', `the media server answers ${response.status}`);
  throw new FileError('away', `the media server answers ${response.status}`);
}

/** Accepts the encrypted bytes as they come: ciphertext, then ten bytes of MAC. */
function decryptor(media: Media, limit: number): { add(chunk: Uint8Array): void; finish(): Buffer } {
  const keys = Buffer.from(hkdfSync('sha256', media.key, Buffer.alloc(0), KEY_INFO[media.kind], 112));
  const iv = keys.subarray(0, 16);
  const decipher = createDecipheriv('aes-256-cbc', keys.subarray(16, 48), iv);
  const mac = createHmac('sha256', keys.subarray(48, 80)).update(iv);
  const encrypted = createHash('sha256');
  const plain: Buffer[] = [];
  let held = Buffer.alloc(0);
  let size = 0;
  return {
    add(chunk) {
      size += chunk.length;
      // padding and MAC are beyond the file itself
      if (size > limit + 16 + MAC_BYTES) throw new FileError('too_large', `more than ${limit} bytes came`);
      encrypted.update(chunk);
      held = Buffer.concat([held, chunk]);
      const ready = held.subarray(0, Math.max(0, held.length - MAC_BYTES));
      mac.update(ready);
      plain.push(decipher.update(ready));
      held = Buffer.from(held.subarray(ready.length));
    },
    finish() {
      const wrong = (what: string) => new FileError('tampered', `${what} is wrong`);
      if (held.length !== MAC_BYTES) throw wrong('the length');
      if (!timingSafeEqual(encrypted.digest(), Buffer.from(media.encSha256)))
        throw wrong('the hash of the encrypted file');
      if (!timingSafeEqual(mac.digest().subarray(0, MAC_BYTES), held)) throw wrong('the MAC');
      try {
        plain.push(decipher.final());
      } catch {
        throw wrong('the padding');
      }
      const whole = Buffer.concat(plain);
      if (!timingSafeEqual(createHash('sha256').update(whole).digest(), Buffer.from(media.sha256)))
        throw wrong('the hash of the file');
      return whole;
    },
  };
}

/** Pauses before the second and third attempt, when the media server cannot be reached. */
const AGAIN_MS = [1_000, 4_000];

/** Loads a file, in at most three attempts. @throws FileError */
export async function loadMedia(media: Media, options: DownloadOptions): Promise<Buffer> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await download(media, options);
    } catch (error) {
      const wait = AGAIN_MS[attempt];
      if (!(error instanceof FileError && error.problem === 'away') || wait === undefined) throw error;
      await pause(wait, undefined, { signal: options.signal });
    }
  }
}

/**
 * Asks the sending phone for a file that WhatsApp's server no longer has, which needs an open connection. Returns where
 * it is now, or null when the phone did not answer in time.
 */
export async function uploadedAgain(
  { key, content }: { key: MessageKey; content: proto.IMessage },
  { live, signal, patienceMs = REUPLOAD_MS }: { live: CurrentLive; signal: AbortSignal; patienceMs?: number },
): Promise<Media | null> {
  const deadline = Date.now() + patienceMs;
  while (!live()) {
    if (Date.now() > deadline) return null;
    await pause(250, undefined, { signal });
  }
  const { chat, participant, fromMe, messageId } = key;
  const asked = live()!.sock.updateMediaMessage({
    key: { remoteJid: chat, id: messageId, fromMe, ...(participant && { participant }) },
    message: content,
  });
  // Baileys waits for the phone's answer without a limit
  const updated = await Promise.race([
    asked.catch(() => null),
    pause(Math.max(1_000, deadline - Date.now()), null, { signal, ref: false }),
  ]);
  return updated?.message ? mediaOf(updated.message) : null;
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at)];
}

function timer(ms: number, onEnd: () => void): { touch(): void; stop(): void } {
  let handle = setTimeout(onEnd, ms);
  return {
    touch() {
      clearTimeout(handle);
      handle = setTimeout(onEnd, ms);
    },
    stop: () => clearTimeout(handle),
  };
}
