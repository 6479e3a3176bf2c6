import type { Colors } from 'picocolors/types.js';
import type { Editor } from './editor.ts';
import { rowsOf, widthOf, wrap } from './layout.ts';
import { typedRows } from './typed-rows.ts';

/** rows of a long message that are shown while it is written */
const MOST_ROWS = 12;

/**
 * The rows below what is finished. They are drawn again at every change, from the first on. No row is as wide as the
 * terminal, so the height is what was counted, whatever the terminal takes an emoji for.
 */
export class LiveArea {
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
