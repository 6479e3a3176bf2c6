import { fileTypeFromBuffer } from 'file-type';
import { isPdf, pdfText } from '../../adapters/pdf/pdf.ts';
import { sanitiseText } from './sanitise.ts';

/** Longest side of a picture for the model, in pixels; providers scale larger ones down. */
const SIDE = 1280;
const PIXELS = 60_000_000;
const PICTURES = new Set(['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif', 'image/heic', 'image/tiff', 'image/bmp']);

/** A picture as JPEG, small enough for every request; null when it cannot be opened as a picture. Sharp is loaded on first use. */
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

const TEXT_BYTES = 2 * 1024 * 1024;
const TEXT_CHARS = 200_000;

/** The text of a document: of a PDF, or of a file that is text; null for everything else. */
export async function documentText(data: Buffer, signal: AbortSignal): Promise<string | null> {
  if (!isPdf(data)) return textFor(data);
  const text = await pdfText(data, signal);
  return text && sanitiseText(text, TEXT_CHARS);
}

/** The text of a document that is text, whatever its declared type; null for everything else. */
export function textFor(data: Buffer): string | null {
  if (data.length === 0 || data.length > TEXT_BYTES || data.subarray(0, 8192).includes(0)) return null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(data);
    return sanitiseText(text, TEXT_CHARS);
  } catch {
    return null;
  }
}
