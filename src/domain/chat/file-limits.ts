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
