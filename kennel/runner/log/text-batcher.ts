import type { Sanitiser } from './sanitiser.ts';

/** how long text waits for more, in ms */
const DELAY = 500;
/**
 * how long the beginning of a secret waits for its end, in ms: a secret in two chunks would otherwise pass in halves
 */
const PATIENCE = 2000;
export const PIECE = 500;
/** most characters that are held back */
const MOST = 16 * PIECE;

/**
 * Joins the chunks of a streaming agent into parts of at most 500 characters, at most two parts a second unless they
 * are full.
 */
export class TextBatcher {
  private buffer = '';
  private messageId = '';
  private timer: NodeJS.Timeout | null = null;
  private since = 0;
  private readonly sanitiser: Sanitiser;
  private readonly write: (messageId: string, text: string) => void;

  constructor(sanitiser: Sanitiser, write: (messageId: string, text: string) => void) {
    this.sanitiser = sanitiser;
    this.write = write;
  }

  add(messageId: string, text: string): void {
    if (messageId !== this.messageId) {
      this.flush();
      this.messageId = messageId;
    }
    if (!this.buffer) this.since = Date.now();
    // a chunk of a megabyte is handled in parts, because sanitising reads the whole buffer
    for (let at = 0; at < text.length; at += 8 * PIECE) {
      this.buffer += text.slice(at, at + 8 * PIECE);
      if (this.buffer.length >= PIECE) this.drain('whole words');
    }
    if (this.buffer) this.timer ??= setTimeout(() => this.tick(), DELAY);
  }

  /** Writes all that waits. */
  flush(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.drain('everything');
  }

  private tick(): void {
    this.timer = null;
    this.drain(Date.now() - this.since >= PATIENCE ? 'words' : 'whole words');
    if (this.buffer) this.timer ??= setTimeout(() => this.tick(), DELAY);
  }

  private drain(what: 'whole words' | 'words' | 'everything'): void {
    let raw = this.buffer;
    let kept = '';
    if (what !== 'everything' && raw.length < MOST) {
      let end = raw.length;
      if (what === 'whole words') end = lastSpace(raw);
      // a long text without any space is cut anyway, except inside a known secret
      if (end === 0 && raw.length >= 4 * PIECE) end = raw.length;
      if (end === raw.length && this.sanitiser.endsInSecret(raw)) end = 0;
      const key = raw.lastIndexOf('-----BEGIN ');
      if (key >= 0 && !raw.includes('-----END ', key)) end = Math.min(end, key);
      [raw, kept] = [raw.slice(0, end), raw.slice(end)];
    }
    this.buffer = kept;
    if (raw) this.since = Date.now();
    // sanitise first, cut afterwards, so that no escape sequence or surrogate pair is split
    let text = this.sanitiser.text(raw);
    while (text) {
      let length = Math.min(PIECE, text.length);
      if (length < text.length && isHigh(text.charCodeAt(length - 1))) length -= 1;
      this.write(this.messageId, text.slice(0, length));
      text = text.slice(length);
    }
  }
}

function lastSpace(text: string): number {
  for (let at = text.length; at > 0; at--) if (/\s/.test(text[at - 1]!)) return at;
  return 0;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
