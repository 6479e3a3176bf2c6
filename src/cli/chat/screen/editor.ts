import { drawn, rowsOf } from './layout.ts';

/** The text that is being written, with the cursor's offset. It knows nothing about terminals. */
export class Editor {
  text = '';
  cursor = 0;
  /** earlier messages, newest first */
  readonly #history: string[];
  /** which of them is shown; -1: the text that is being written */
  #back = -1;
  #draft = '';
  #killed = '';

  constructor(history: readonly string[] = []) {
    this.#history = [...history];
  }

  set(text: string, cursor = text.length): void {
    this.text = text;
    this.cursor = cursor;
  }

  insert(text: string): void {
    this.set(this.text.slice(0, this.cursor) + text + this.text.slice(this.cursor), this.cursor + text.length);
  }

  /** Returns the text, and begins with an empty one. */
  take(): string {
    const { text } = this;
    this.set('');
    this.#back = -1;
    if (text.trim() !== '' && this.#history[0] !== text) this.#history.unshift(text);
    return text;
  }

  /** False for a key without a meaning here. */
  press({ name, ctrl, meta }: { name?: string; ctrl?: boolean; meta?: boolean }): boolean {
    const key = `${ctrl ? 'ctrl-' : ''}${meta ? 'alt-' : ''}${name ?? ''}`;
    const act = this.#keys[key];
    act?.();
    return act !== undefined;
  }

  readonly #keys: Record<string, (() => void) | undefined> = this.#bindings();

  #bindings(): Record<string, () => void> {
    const to = (place: () => number) => () => {
      this.cursor = place();
    };
    const kill = (place: () => number) => () => this.#kill(place());
    const remove = (place: () => number) => () => this.#remove(place());
    const [left, right] = [() => this.#left(), () => this.#right()];
    const [wordLeft, wordRight] = [() => this.#wordLeft(), () => this.#wordRight()];
    const [home, end] = [() => this.#lineStart(), () => this.#lineEnd()];
    return {
      left: to(left),
      'ctrl-b': to(left),
      right: to(right),
      'ctrl-f': to(right),
      'ctrl-left': to(wordLeft),
      'alt-left': to(wordLeft),
      'alt-b': to(wordLeft),
      'ctrl-right': to(wordRight),
      'alt-right': to(wordRight),
      'alt-f': to(wordRight),
      home: to(home),
      'ctrl-a': to(home),
      end: to(end),
      'ctrl-e': to(end),
      backspace: remove(left),
      'ctrl-h': remove(left),
      delete: remove(right),
      'ctrl-d': remove(right),
      'ctrl-w': kill(wordLeft),
      'alt-backspace': kill(wordLeft),
      'ctrl-backspace': kill(wordLeft),
      'alt-d': kill(wordRight),
      'ctrl-delete': kill(wordRight),
      'ctrl-u': kill(home),
      'ctrl-k': kill(end),
      'ctrl-y': () => this.insert(this.#killed),
      up: () => this.#upOrBack(),
      down: () => this.#downOrForth(),
      'ctrl-p': () => this.#recall(this.#back + 1),
      'ctrl-n': () => this.#recall(this.#back - 1),
    };
  }

  #remove(place: number): string {
    const [from, to] = [Math.min(place, this.cursor), Math.max(place, this.cursor)];
    const removed = this.text.slice(from, to);
    this.set(this.text.slice(0, from) + this.text.slice(to), from);
    return removed;
  }
  #kill(place: number): void {
    this.#killed = this.#remove(place) || this.#killed;
  }

  #left(): number {
    return this.cursor - (lastOf(this.text.slice(Math.max(0, this.cursor - NEAR), this.cursor))?.length ?? 0);
  }
  #right(): number {
    return this.cursor + (firstOf(this.text.slice(this.cursor, this.cursor + NEAR))?.length ?? 0);
  }
  #wordLeft(): number {
    let at = this.cursor;
    while (at > 0 && !isWord(this.text[at - 1]!)) at--;
    while (at > 0 && isWord(this.text[at - 1]!)) at--;
    return at;
  }
  #wordRight(): number {
    let at = this.cursor;
    while (at < this.text.length && !isWord(this.text[at]!)) at++;
    while (at < this.text.length && isWord(this.text[at]!)) at++;
    return at;
  }
  #lineStart(): number {
    return this.cursor === 0 ? 0 : this.text.lastIndexOf('\n', this.cursor - 1) + 1;
  }
  #lineEnd(): number {
    const end = this.text.indexOf('\n', this.cursor);
    return end < 0 ? this.text.length : end;
  }

  #upOrBack() {
    const start = this.#lineStart();
    if (start === 0) return this.#recall(this.#back + 1);
    const above = start - 1;
    const aboveStart = above === 0 ? 0 : this.text.lastIndexOf('\n', above - 1) + 1;
    this.cursor = aboveStart + sameColumn(this.text.slice(start, this.cursor), this.text.slice(aboveStart, above));
  }
  #downOrForth() {
    const end = this.#lineEnd();
    if (end === this.text.length) return this.#recall(this.#back - 1);
    const before = this.text.slice(this.#lineStart(), this.cursor);
    this.cursor = end + 1;
    this.cursor += sameColumn(before, this.text.slice(end + 1, this.#lineEnd()));
  }

  #recall(index: number) {
    if (index < -1 || index >= this.#history.length) return;
    if (this.#back === -1) this.#draft = this.text;
    this.#back = index;
    this.set(index === -1 ? this.#draft : this.#history[index]!);
  }
}

/** No visible character is longer; a larger value would make each key slower in a long text. */
const NEAR = 64;
const segmenter = new Intl.Segmenter();
const firstOf = (text: string): string | undefined => segmenter.segment(text)[Symbol.iterator]().next().value?.segment;
const lastOf = (text: string): string | undefined => [...segmenter.segment(text)].at(-1)?.segment;
/** The same column in another line. */
const sameColumn = (before: string, line: string): number =>
  [...segmenter.segment(line)]
    .slice(0, [...segmenter.segment(before)].length)
    .reduce((sum, { segment }) => sum + segment.length, 0);
const isWord = (character: string): boolean => /[\p{L}\p{N}\p{M}_\p{Cs}]/u.test(character);

/** How several lines become one message: `\` at the end of a line continues it, and `"""` begins and ends a block. */
const FENCE = '"""';

/** Whether Enter begins a new line and does not send. */
export function goesOn(text: string): boolean {
  if (text.trimStart().startsWith(FENCE)) return !closed(text);
  return endsWithBackslash(text);
}

/** The text after Enter began a new line, without the `\`. */
export const nextLine = (text: string): string =>
  `${!text.trimStart().startsWith(FENCE) && endsWithBackslash(text) ? text.slice(0, -1) : text}\n`;

/** What is sent: the inside of a block, or the text as it is. */
export function messageOf(text: string): string {
  const whole = text.trim();
  if (!whole.startsWith(FENCE) || !closed(text)) return whole;
  return whole.slice(FENCE.length, -FENCE.length).replace(/^ *\n/, '').trimEnd();
}

const closed = (text: string): boolean => {
  const whole = text.trim();
  return whole.length >= 2 * FENCE.length && whole.endsWith(FENCE);
};

/** An even number of backslashes is text, such as the doubled end of a Windows path. */
const endsWithBackslash = (text: string): boolean => (/(?<!\\)\\{1,100}$/.exec(text)?.[0].length ?? 0) % 2 === 1;

export const PROMPT = '› ';
const INDENT = '  ';
/** lines of a message that stay on the screen when it is sent */
const KEPT_LINES = 12;

/** The typed text in at most `most` rows, with the cursor's row and the text before the cursor in it. */
export function typedRows(
  editor: Editor,
  width: number,
  most: number,
): { rows: string[]; cursor: number; before: string } {
  const rows: Array<{ text: string; start: number }> = [];
  let at = 0;
  for (const line of editor.text.split('\n')) {
    for (const { start, end } of rowsOf(line, width - PROMPT.length))
      rows.push({ text: line.slice(start, end), start: at + start });
    at += line.length + 1;
  }
  const cursor = rows.findLastIndex(({ start }) => start <= editor.cursor);
  const first = Math.max(0, Math.min(cursor - most + 2, rows.length - most));
  const lead = (index: number): string => (index === 0 ? PROMPT : INDENT);
  const shown = rows.slice(first, first + most).map(({ text }, index) => lead(first + index) + drawn(text));
  if (first > 0) shown[0] = `${INDENT}… ${first + 1} rows above`;
  const here = rows[cursor]!;
  return {
    rows: shown,
    cursor: cursor - first,
    before: lead(cursor) + drawn(here.text.slice(0, editor.cursor - here.start)),
  };
}

/** A sent message, as it stays on the screen. */
export function sentText(text: string): string {
  const lines = text.split('\n');
  const kept = lines.length > KEPT_LINES + 1 ? [...lines.slice(0, KEPT_LINES), `… (${lines.length} lines)`] : lines;
  return kept.map((line, index) => (index === 0 ? PROMPT : INDENT) + line).join('\n');
}
