import { fileTypeFromBuffer } from 'file-type';

/** Longest side of a picture for the model, in pixels; providers scale larger ones down. */
const SIDE = 1280;
const PIXELS = 60_000_000;
const PICTURES = new Set([
  'image/jpeg',
  'image/png',
  'image/webp',
  'image/gif',
  'image/avif',
  'image/heic',
  'image/tiff',
  'image/bmp',
]);

/**
 * A picture as JPEG, small enough for every request; null when it cannot be opened as a picture. Sharp is loaded on
 * first use.
 */
export async function pictureFor(data: Buffer): Promise<Buffer | null> {
  const type = await fileTypeFromBuffer(data).catch(() => undefined);
  if (!type || !PICTURES.has(type.mime)) return null;
  const { default: sharp } = await import('sharp');
  sharp.cache(false);
  sharp.concurrency(1);
  try {
    return await sharp(data, { limitInputPixels: PIXELS, failOn: 'error' })
      .rotate()
      .resize({ width: SIDE, height: SIDE, fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .jpeg({ quality: 80 })
      .toBuffer();
  } catch {
    return null;
  }
}
