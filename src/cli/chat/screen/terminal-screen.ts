import type { Colors } from 'picocolors/types.js';
import { Editor, goesOn, messageOf, nextLine, PROMPT, sentText, typedRows } from './editor.ts';
import { type Key, readKeys } from './keys.ts';
import { rowsOf, widthOf, wrap } from './layout.ts';
import type { Screen, ScreenOptions } from './types.ts';

const BRACKETED_PASTE = { on: '\x1b[?2004h', off: '\x1b[?2004l' };
const CLEAR = '\x1b[H\x1b[2J';

/** A terminal. What is finished scrolls up; the live area stays below it. */
export class TerminalScreen implements Screen {
  readonly interactive = true;
  readonly colors: Colors;
  readonly size: Screen['size'];
  private readonly options: ScreenOptions;
  private readonly editor: Editor;
  private readonly live: LiveArea;
  private readonly keys: { stop(): void };
  private closed = false;

  constructor(options: ScreenOptions, colors: Colors) {
    const { input, output } = options;
    this.options = options;
    this.colors = colors;
    this.editor = new Editor(options.history);
    this.live = new LiveArea(this.editor, colors);
    this.size = this.live.size;
    this.keys = readKeys(input, { key: (key) => this.press(key), text: (text) => this.paste(text) });
    // closing the window removes the terminal
    input.on('end', this.ended).on('close', this.ended).on('error', this.ended);
    output.on('resize', this.resized);
    input.setRawMode?.(true);
    input.resume();
    this.live.measure(output);
    output.write(BRACKETED_PASTE.on);
    this.draw();
  }

  print(text: string): void {
    this.draw(text);
  }

  partial(text: string): void {
    if (text === this.live.partial) return;
    this.live.partial = text;
    this.draw();
  }

  status(what: string, detail = ''): void {
    const line = what + detail;
    if (line === this.live.status) return;
    this.live.status = line;
    this.draw();
  }

  clearInput(): boolean {
    if (this.editor.text === '') return false;
    this.editor.set('');
    this.draw();
    return true;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    const { input, output } = this.options;
    this.keys.stop();
    input.off('end', this.ended).off('close', this.ended);
    output.off('resize', this.resized);
    output.write(`${this.live.erase()}${BRACKETED_PASTE.off}`);
    // a terminal that is gone has no mode to restore
    try {
      input.setRawMode?.(false);
    } catch {}
    input.pause();
  }

  private readonly ended = (): void => this.options.onEnd();

  private readonly resized = (): void => {
    this.live.resize(this.options.output);
    this.draw();
  };

  private draw(finished?: string): void {
    if (!this.closed) this.options.output.write(this.live.redraw(finished));
  }

  private press(key: Key): void {
    if (this.closed) return;
    const { editor, options } = this;
    // text typed before raw mode has line feeds, which the terminal made of Enter
    const enter = key.name === 'return' || key.name === 'enter';
    if (key.ctrl && key.name === 'c') options.onInterrupt();
    else if (key.ctrl && key.name === 'd' && editor.text === '') options.onEnd();
    else if (key.ctrl && key.name === 'l') this.clear();
    else this.edit(key, enter);
  }

  private edit(key: Key, enter: boolean): void {
    const { editor } = this;
    if (enter && key.meta) editor.insert('\n');
    else if (enter && editor.cursor === editor.text.length && goesOn(editor.text)) editor.set(nextLine(editor.text));
    else if (enter) this.send();
    else if (key.name === 'tab') editor.insert('\t');
    else editor.press(key);
    this.draw();
  }

  private paste(text: string): void {
    this.editor.insert(text);
    this.draw();
  }

  private send(): void {
    const text = messageOf(this.editor.take());
    // an empty line pushes away what was read
    this.draw(text === '' ? PROMPT : sentText(text));
    this.options.onMessage(text);
  }

  private clear(): void {
    this.options.output.write(CLEAR);
    this.live.forget();
    this.draw();
  }
}

/** rows of a long message that are shown while it is written */
const MOST_ROWS = 12;

/**
 * The rows below what is finished. They are drawn again at every change, from the first on. No row is as wide as the
 * terminal, so the height is what was counted, whatever the terminal takes an emoji for.
 */
class LiveArea {
  readonly size = { columns: 80, rows: 24 };
  /** the line that is being written */
  partial = '';
  /** what is running now */
  status = '';
  private readonly editor: Editor;
  private readonly colors: Colors;
  private rows: string[] = [];
  /** the row of the cursor */
  private cursor = 0;

  constructor(editor: Editor, colors: Colors) {
    this.editor = editor;
    this.colors = colors;
  }

  /** What erases the area and draws it again, below the finished text. */
  redraw(finished?: string): string {
    const erase = this.erase();
    const { rows, cursor, column } = this.layOut();
    const up = rows.length - 1 - cursor;
    const above = finished === undefined ? '' : `${wrap(finished, this.width)}\n`;
    this.rows = rows;
    this.cursor = cursor;
    // the cursor's row is written twice: after its own beginning the cursor is right on any terminal
    return `${erase}${above}${rows.join('\n')}${up > 0 ? `\x1b[${up}A` : ''}\r${column}`;
  }

  erase(): string {
    return `${this.cursor > 0 ? `\x1b[${this.cursor}A` : ''}\r\x1b[J`;
  }

  /** The screen was cleared. */
  forget(): void {
    this.rows = [];
    this.cursor = 0;
  }

  measure({ columns = 80, rows = 24 }: { columns?: number; rows?: number }): void {
    this.size.columns = Math.max(20, columns);
    this.size.rows = Math.max(4, rows);
  }

  resize(output: { columns?: number; rows?: number }): void {
    const before = this.size.columns;
    this.measure(output);
    const { columns } = this.size;
    if (columns >= before) return;
    // a narrower terminal has broken the rows that are now too wide. Not all terminals break the cursor's row; counting
    // it once leaves one row too many on the others, but never removes earlier text.
    this.cursor = this.rows
      .slice(0, this.cursor)
      .reduce((sum, row) => sum + Math.max(1, Math.ceil(widthOf(row) / columns)), 0);
  }

  private get width(): number {
    return this.size.columns - 1;
  }

  private layOut(): { rows: string[]; cursor: number; column: string } {
    const { partial, status, size, width } = this;
    const typed = typedRows(this.editor, width, Math.max(3, Math.min(MOST_ROWS, size.rows - 3)));
    const above = partial === '' ? [] : wrap(partial, width).split('\n');
    const room = size.rows - 2 - typed.rows.length;
    const rows = [
      ...(room > 0 ? above.slice(-room) : []),
      ...(status === '' ? [] : [this.colors.dim(cutTo(status, width))]),
    ];
    return { rows: [...rows, ...typed.rows], cursor: rows.length + typed.cursor, column: typed.before };
  }
}

const cutTo = (text: string, columns: number): string => {
  const [row] = rowsOf(text, columns - 1);
  return row!.end < text.length ? `${text.slice(0, row!.end)}…` : text;
};
