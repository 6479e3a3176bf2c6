/**
 * How far a text is as JSON. `more`: something stands behind a whole object. `other`: it does not begin like an object.
 */
type JsonState = 'empty' | 'half' | 'whole' | 'more' | 'other';

/**
 * Follows a JSON object that arrives in pieces. It sees brackets and strings alone: a `whole` object may still be
 * malformed.
 */
export class JsonProgress {
  state: JsonState = 'empty';
  private depth = 0;
  private quoted = false;
  private escaped = false;

  add(text: string): void {
    for (let at = 0; at < text.length && this.state !== 'more' && this.state !== 'other'; at++)
      this.step(text.charCodeAt(at));
  }

  private step(code: number): void {
    if (this.quoted) {
      if (this.escaped) this.escaped = false;
      else if (code === BACKSLASH) this.escaped = true;
      else if (code === QUOTE) this.quoted = false;
      return;
    }
    if (code <= SPACE) return;
    if (this.state === 'whole') this.state = 'more';
    else if (this.state === 'empty') this.state = code === BRACE || code === BRACKET ? 'half' : 'other';
    if (this.state !== 'half') return;
    if (code === QUOTE) this.quoted = true;
    else if (code === BRACE || code === BRACKET) this.depth += 1;
    else if (code === BRACE_END || code === BRACKET_END) {
      this.depth -= 1;
      if (this.depth === 0) this.state = 'whole';
    }
  }
}

const [SPACE, QUOTE, BRACKET, BACKSLASH, BRACKET_END, BRACE, BRACE_END] = [0x20, 0x22, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d];

export function jsonState(text: string): JsonState {
  const progress = new JsonProgress();
  progress.add(text);
  return progress.state;
}

/** The end of the object or list that begins at `start`; undefined when it has none. */
export function jsonEnd(text: string, start: number): number | undefined {
  const progress = new JsonProgress();
  for (let at = start; at < text.length; at++) {
    progress.add(text[at]!);
    if (progress.state === 'whole') return at + 1;
    if (progress.state === 'other') return undefined;
  }
  return undefined;
}
