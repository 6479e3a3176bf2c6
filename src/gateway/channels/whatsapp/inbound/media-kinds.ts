import type { proto } from '@whiskeysockets/baileys';
import type { FileFacts } from '../../../intake/attachments/attachments.ts';
import { sanitiseName, sanitiseText } from '../../../intake/attachments/sanitise.ts';

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

/** Messages that are not text but can be described in words; undefined for others. */
export function shownAsText(message: proto.IMessage): string | undefined {
  const {
    contactMessage: contact,
    contactsArrayMessage: contacts,
    locationMessage: place,
    liveLocationMessage: live,
    stickerMessage: sticker,
  } = message;
  const poll = message.pollCreationMessage ?? message.pollCreationMessageV2 ?? message.pollCreationMessageV3;
  if (contact) return contactLine(contact);
  if (contacts) return (contacts.contacts ?? []).slice(0, 20).map(contactLine).join('\n');
  if (place ?? live) {
    const { degreesLatitude, degreesLongitude } = (place ?? live)!;
    const words = [place?.name, place?.address, live?.caption, `${degreesLatitude}, ${degreesLongitude}`].filter(
      Boolean,
    );
    return `[location: ${words.join(', ')}]`;
  }
  if (sticker) return '[sticker]';
  if (poll) return `[poll: ${poll.name ?? ''}: ${(poll.options ?? []).map((option) => option.optionName).join(' / ')}]`;
  const event = message.eventMessage;
  if (event) return `[event: ${[event.name, event.description].filter(Boolean).join(', ')}]`;
  return (
    message.buttonsResponseMessage?.selectedDisplayText ??
    message.templateButtonReplyMessage?.selectedDisplayText ??
    message.listResponseMessage?.title ??
    undefined
  );
}

function contactLine(contact: proto.Message.IContactMessage): string {
  const numbers = [
    ...(contact.vcard ?? '')
      .slice(0, 10_000)
      .matchAll(/(?<=^|\n)(?:item\d{1,3}\.)?(?:TEL|EMAIL)[^:\n]{0,200}:([^\n]+)/gi),
  ].map((match) => match[1]!.trim());
  return `[contact: ${[sanitiseText(contact.displayName ?? ''), ...numbers.slice(0, 5)].filter(Boolean).join(', ')}]`;
}
