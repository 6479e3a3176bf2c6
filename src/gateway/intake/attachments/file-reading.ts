import { isPdf, pdfText } from '../../../adapters/pdf/pdf.ts';
import { sanitiseText } from './sanitise.ts';

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
