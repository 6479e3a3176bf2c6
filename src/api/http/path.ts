import { badSegment } from '../errors/texts.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Ids consist of letters, digits, `_` and `-`. Anything else is not an id of ours. */
export const ID = /^[A-Za-z0-9_-]{1,128}$/;
export const isId = (id: string): boolean => ID.test(id);

/** Decodes one path segment. A broken escape stays as it is. @throws EdgeError 400 when the bytes are not UTF-8 */
export function decodeSegment(raw: string, name: string): string {
  const bytes = Buffer.from(
    raw.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  try {
    return utf8.decode(bytes);
  } catch {
    throw badSegment(name);
  }
}
/** Those of questions about hosts have a full stop, too. */
export const isQuestionId = (id: string): boolean => /^[A-Za-z0-9_.-]{1,160}$/.test(id);
