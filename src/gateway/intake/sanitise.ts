import { prefix } from '../../domain/text/storable.ts';

/** Longest accepted message in characters. WhatsApp's own clients stop at 65,536, so only a forged one is longer. */
export const TEXT_LIMIT = 1_000_000;
const NAME_LIMIT = 60;

/**
 * Removes what nobody can see: control characters, bidirectional overrides and isolates, and invisible tag characters
 * outside flags. With them a text could read differently for the model than on a phone.
 */
export function sanitiseText(text: string, limit = TEXT_LIMIT): string {
  const whole = text.length > limit ? `${prefix(text, limit)}\n[cut: there were ${text.length} characters]` : text;
  return (
    whole
      .toWellFormed()
      .replace(/\r\n?/g, '\n')
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
      // a flag is matched whole, with its tags, and stays
      .replace(/\u{1f3f4}[\u{e0020}-\u{e007f}]*|[\u{e0000}-\u{e007f}]/gu, (part) =>
        part.startsWith('\u{1f3f4}') ? part : '',
      )
  );
}

/** A push name, which anybody can choose, as one short line; null when nothing is left. */
export function sanitiseName(name: string | null | undefined): string | null {
  const line = [...sanitiseText(name ?? '').replace(/[\s:]+/g, ' ')].slice(0, NAME_LIMIT).join('').trim();
  return line || null;
}
