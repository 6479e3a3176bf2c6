import type { proto } from '@whiskeysockets/baileys';
import type { FileFacts } from '../../../intake/attachments.ts';
import { sanitiseName } from '../../../intake/sanitise.ts';

/** A file that came with a message, still on WhatsApp's media server and encrypted. */
export interface Media extends FileFacts {
  key: Uint8Array;
  /** path on the media server; the host that the sender names is never used */
  path: string;
  encSha256: Uint8Array;
  sha256: Uint8Array;
  /** the sender's claim; used only to refuse early */
  claimedBytes: number;
}

/**
 * The file of a message, or null. Without a key, path or hashes a file cannot be checked, so its path is empty and it
 * counts as one that cannot be loaded.
 */
export function mediaOf(message: proto.IMessage): Media | null {
  const { imageMessage: image, videoMessage, ptvMessage, audioMessage: audio, documentMessage: document } = message;
  const video = videoMessage ?? ptvMessage;
  if (image) return media('image', image, 'image/jpeg');
  if (video) return { ...media('video', video, 'video/mp4'), seconds: Number(video.seconds ?? 0) };
  if (audio)
    return { ...media('audio', audio, 'audio/ogg'), voice: audio.ptt === true, seconds: Number(audio.seconds ?? 0) };
  if (document)
    return {
      ...media('document', document, 'application/octet-stream'),
      name: sanitiseName(document.fileName ?? document.title) ?? 'document',
    };
  return null;
}

type Part = Pick<
  proto.Message.IDocumentMessage,
  'url' | 'directPath' | 'mediaKey' | 'fileEncSha256' | 'fileSha256' | 'fileLength' | 'mimetype'
>;

function media(kind: Media['kind'], part: Part, mime: string): Media {
  const checkable = part.mediaKey?.length === 32 && part.fileEncSha256?.length === 32 && part.fileSha256?.length === 32;
  return {
    kind,
    mime: /^[\w.+-]+\/[\w.+-]+/.exec(part.mimetype ?? '')?.[0].toLowerCase() ?? mime,
    name: null,
    voice: false,
    seconds: 0,
    key: part.mediaKey ?? new Uint8Array(),
    path: checkable ? pathOf(part) : '',
    encSha256: part.fileEncSha256 ?? new Uint8Array(),
    sha256: part.fileSha256 ?? new Uint8Array(),
    claimedBytes: Number(part.fileLength ?? 0),
  };
}

function pathOf(part: Part): string {
  if (part.directPath) return part.directPath;
  try {
    const { pathname, search } = new URL(part.url ?? '');
    return pathname + search;
  } catch {
    return '';
  }
}
