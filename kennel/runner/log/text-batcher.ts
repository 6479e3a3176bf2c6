import type { Sanitiser } from './sanitiser.ts';

/** ms that text waits for more of it */
const DELAY = 500;
/** ms that a word waits for its end: a secret that comes in two chunks would pass in halves */
const PATIENCE = 2000;
export const PIECE = 500;
/** characters that are held back at most */
const MOST = 16 * PIECE;

/** Joins the chunks of a streaming agent to pieces of at most 500 characters, at most two a second unless they are full. */
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
    // a chunk of a megabyte is worked through in parts: cleaning looks at the whole buffer
    for (let at = 0; at < text.length; at += 8 * PIECE) {
      this.buffer += text.slice(at, at + 8 * PIECE);
      if (this.buffer.length >= PIECE) this.drain('whole words');
    }
    if (this.buffer) this.timer ??= setTimeout(() => this.tick(), DELAY);
  }

  /** Writes what is there, whole. */
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
      // without any space a long text is cut anyhow, except in a secret that is known
      if (end === 0 && raw.length >= 4 * PIECE) end = raw.length;
      if (end === raw.length && this.sanitiser.endsInSecret(raw)) end = 0;
      const key = raw.lastIndexOf('-----BEGIN ');
      if (key >= 0 && !raw.includes('-----END ', key)) end = Math.min(end, key);
      [raw, kept] = [raw.slice(0, end), raw.slice(end)];
    }
    this.buffer = kept;
    if (raw) this.since = Date.now();
    // an escape sequence or a surrogate pair is never in two pieces: cleaned first, cut afterwards
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
