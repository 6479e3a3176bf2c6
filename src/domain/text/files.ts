import { oneLine, quotation } from './foreign-text.ts';
import { prefix } from './storable.ts';

/** A file that came with a message, as far as a model can be shown it. */
export interface FileShown {
  id: string;
  kind: 'image' | 'document' | 'audio' | 'video';
  name: string | null;
  /** text of a document; the words of a recording are part of the message itself */
  text: string | null;
  /** JPEG, base64; only the newest pictures have it */
  picture: string | null;
}

/** How much of a document is part of the message, in characters. */
export const SHOWN_FILE_CHARS = 20_000;
/** Most pictures in one request, of the newest messages: each costs as much as a page of text, on every step. */
export const SHOWN_PICTURES = 4;

/**
 * A message with the texts of its documents, each at most of this many characters, and the ids by which the model reads
 * on in its files and sends them.
 */
export function withDocuments(content: string, files: readonly FileShown[], mostChars = SHOWN_FILE_CHARS): string {
  const texts = files.flatMap((file) =>
    file.kind === 'document' && file.text ? [documentText(file, file.text, Math.min(mostChars, SHOWN_FILE_CHARS))] : [],
  );
  // a recording is already in the message, as its words
  const listed = files.filter((file) => file.kind !== 'audio').map((file) => `${file.id} (${named(file)})`);
  return [content, ...texts, ...(listed.length > 0 ? [`[attached: ${listed.join(', ')}]`] : [])].join('\n\n');
}

/**
 * Says which pictures of a message are not in the request; empty when all are. `files`: what came with the message, of
 * which those with a picture are shown.
 */
export function unseenPictures(files: readonly FileShown[]): string {
  const pictures = files.filter(({ kind }) => kind === 'image');
  const unseen = pictures.flatMap(({ picture }, at) => (picture === null ? [String(at + 1)] : []));
  if (unseen.length === 0) return '';
  if (unseen.length === pictures.length)
    return pictures.length === 1 ? '[The picture is not shown to you.]' : '[The pictures are not shown to you.]';
  const shown = `${pictures.length - unseen.length} of the ${pictures.length} pictures are shown to you`;
  return `[${shown}, in their order. Not shown: ${unseen.length === 1 ? 'picture' : 'pictures'} ${unseen.join(', ')}. Say so if it matters.]`;
}

/** The sender chose the name, so it is made safe for one line. */
const named = ({ name, kind }: Pick<FileShown, 'name' | 'kind'>): string => oneLine(name ?? '') || WORDS[kind];

const WORDS: Record<FileShown['kind'], string> = {
  image: 'picture',
  document: 'document',
  audio: 'recording',
  video: 'video',
};

function documentText({ id, name }: FileShown, text: string, mostChars: number): string {
  const begin = prefix(text, mostChars);
  const read = `read on with read_output {"callId":"${id}","offset":${begin.length}}`;
  const shown = begin === text ? text : `${begin}\n[cut at ${begin.length} of ${text.length} characters; ${read}]`;
  return `[the text of ${named({ name, kind: 'document' })}]\n${quotation(shown)}`;
}

export type FileKind = 'image' | 'audio' | 'video' | 'document';

const MEGABYTE = 1024 * 1024;

/** Largest files of a message, in bytes. */
export const FILE_LIMITS: Record<FileKind, number> = {
  image: 16 * MEGABYTE,
  audio: 16 * MEGABYTE,
  video: 64 * MEGABYTE,
  document: 32 * MEGABYTE,
};

/** What a content type says of a file. A drawing (SVG) is text. */
export function kindOfType(type: string): FileKind {
  if (type.startsWith('image/svg')) return 'document';
  return (['image', 'audio', 'video'] as const).find((kind) => type.startsWith(`${kind}/`)) ?? 'document';
}
