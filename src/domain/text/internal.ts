const OPEN = '<internal>';
const CLOSE = '</internal>';

/**
 * The text without what its author keeps to itself. An unclosed part reaches to the end. The marks are those of
 * NanoClaw's agents.
 */
export function withoutInternal(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (;;) {
    const open = text.indexOf(OPEN, from);
    kept.push(text.slice(from, open < 0 ? undefined : open));
    const close = open < 0 ? -1 : text.indexOf(CLOSE, open);
    if (close < 0) return kept.join('').trim();
    from = close + CLOSE.length;
  }
}

/** The same for a text that comes in parts. */
export class InternalFilter {
  #pending = '';
  #inside = false;

  /** The part that may be shown now: what may be the beginning of a mark waits for the next part. */
  add(part: string): string {
    this.#pending += part;
    let shown = '';
    for (;;) {
      const mark = this.#inside ? CLOSE : OPEN;
      const at = this.#pending.indexOf(mark);
      const end = at < 0 ? this.#pending.length - beginningAtEnd(this.#pending, mark) : at;
      if (!this.#inside) shown += this.#pending.slice(0, end);
      this.#pending = this.#pending.slice(at < 0 ? end : at + mark.length);
      if (at < 0) return shown;
      this.#inside = !this.#inside;
    }
  }

  /** The part that waited, when nothing more comes. */
  end(): string {
    const left = this.#inside ? '' : this.#pending;
    this.#pending = '';
    return left;
  }
}

/** How many characters at the end of a text may be the beginning of a mark. */
function beginningAtEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}
