import type { Colors } from 'picocolors/types.js';
import { goesOn, messageOf, nextLine } from '../message.ts';
import { Editor } from './editor.ts';
import { type Key, readKeys } from './keys.ts';
import { drawn, rowsOf, widthOf, wrap } from './layout.ts';
import type { Screen, ScreenOptions } from './types.ts';

const PROMPT = '› ';
const INDENT = '  ';
/** rows of a long message that are shown while it is written */
const MOST_ROWS = 12;
/** lines of a message that stay on the screen when it is sent */
const KEPT_LINES = 12;
const BRACKETED_PASTE = { on: '\x1b[?2004h', off: '\x1b[?2004l' };

/**
 * A terminal. Finished text scrolls up. The live area below is redrawn at every change, from its first row. No row is as wide as the terminal, so the counted
 * height is right, whatever width an emoji has.
 */
export function terminalScreen({ input, output, history, onMessage, onInterrupt, onEnd }: ScreenOptions, colors: Colors): Screen {
  const editor = new Editor(history);
  let partial = '';
  let status = '';
  let live: { rows: string[]; cursor: number } = { rows: [], cursor: 0 };
  let closed = false;

  const size = { columns: 80, rows: 24 };
  const measure = (): void => {
    size.columns = Math.max(20, output.columns ?? 80);
    size.rows = Math.max(4, output.rows ?? 24);
  };
  const width = (): number => size.columns - 1;

  const layOut = (): typeof live & { column: string } => {
    const typed = typedRows(editor, width(), Math.max(3, Math.min(MOST_ROWS, size.rows - 3)));
    const above = partial === '' ? [] : wrap(partial, width()).split('\n');
    const room = size.rows - 2 - typed.rows.length;
    const rows = [...(room > 0 ? above.slice(-room) : []), ...(status === '' ? [] : [colors.dim(cutTo(status, width()))])];
    return { rows: [...rows, ...typed.rows], cursor: rows.length + typed.cursor, column: typed.before };
  };

  const erase = (): string => `${live.cursor > 0 ? `\x1b[${live.cursor}A` : ''}\r\x1b[J`;
  const draw = (finished?: string): void => {
    if (closed) return;
    const next = layOut();
    const up = next.rows.length - 1 - next.cursor;
    const above = finished === undefined ? '' : `${wrap(finished, width())}\n`;
    // the cursor's row is written twice: after its own beginning the cursor is right on any terminal
    output.write(`${erase()}${above}${next.rows.join('\n')}${up > 0 ? `\x1b[${up}A` : ''}\r${next.column}`);
    live = next;
  };

  const onResize = (): void => {
    const before = size.columns;
    measure();
    // a narrower terminal has broken the rows that are now too wide. Not all terminals break the cursor's row; counting it once leaves one row too many on the
    // others, but never removes earlier text.
    if (size.columns < before) live.cursor = live.rows.slice(0, live.cursor).reduce((sum, row) => sum + Math.max(1, Math.ceil(widthOf(row) / size.columns)), 0);
    draw();
  };

  const send = () => {
    if (editor.cursor === editor.text.length && goesOn(editor.text)) return editor.set(nextLine(editor.text));
    const text = messageOf(editor.take());
    // an empty line pushes away what was read
    draw(text === '' ? PROMPT : sentText(text));
    onMessage(text);
  };

  const onKey = (key: Key) => {
    if (closed) return;
    // text typed before raw mode has line feeds, which the terminal made of Enter
    const enter = key.name === 'return' || key.name === 'enter';
    if (key.ctrl && key.name === 'c') return onInterrupt();
    if (key.ctrl && key.name === 'd' && editor.text === '') return onEnd();
    if (key.ctrl && key.name === 'l') return clear();
    if (enter && key.meta) editor.insert('\n');
    else if (enter) send();
    else if (key.name === 'tab') editor.insert('\t');
    else editor.press(key);
    draw();
  };
  const clear = (): void => {
    output.write('\x1b[H\x1b[2J');
    live = { rows: [], cursor: 0 };
    draw();
  };

  const keys = readKeys(input, {
    key: onKey,
    text(text) {
      editor.insert(text);
      draw();
    },
  });
  const ended = (): void => onEnd();
  // closing the window removes the terminal
  input.on('end', ended).on('close', ended).on('error', ended);
  output.on('resize', onResize);
  input.setRawMode?.(true);
  input.resume();
  measure();
  output.write(BRACKETED_PASTE.on);
  draw();

  return {
    interactive: true,
    colors,
    size,
    print: (text) => draw(text),
    partial(text) {
      if (text === partial) return;
      partial = text;
      draw();
    },
    status(what, detail = '') {
      const line = what + detail;
      if (line === status) return;
      status = line;
      draw();
    },
    clearInput() {
      if (editor.text === '') return false;
      editor.set('');
      draw();
      return true;
    },
    close() {
      if (closed) return;
      closed = true;
      keys.stop();
      input.off('end', ended).off('close', ended);
      output.off('resize', onResize);
      output.write(`${erase()}${BRACKETED_PASTE.off}`);
      // a terminal that is gone has no mode to restore
      try {
        input.setRawMode?.(false);
      } catch {}
      input.pause();
    },
  };
}

/** The typed text in at most `most` rows, with the cursor's row and the text before the cursor in it. */
function typedRows(editor: Editor, width: number, most: number): { rows: string[]; cursor: number; before: string } {
  const rows: Array<{ text: string; start: number }> = [];
  let at = 0;
  for (const line of editor.text.split('\n')) {
    for (const { start, end } of rowsOf(line, width - PROMPT.length)) rows.push({ text: line.slice(start, end), start: at + start });
    at += line.length + 1;
  }
  const cursor = rows.findLastIndex(({ start }) => start <= editor.cursor);
  const first = Math.max(0, Math.min(cursor - most + 2, rows.length - most));
  const lead = (index: number): string => (index === 0 ? PROMPT : INDENT);
  const shown = rows.slice(first, first + most).map(({ text }, index) => lead(first + index) + drawn(text));
  if (first > 0) shown[0] = `${INDENT}… ${first + 1} rows above`;
  const here = rows[cursor]!;
  return { rows: shown, cursor: cursor - first, before: lead(cursor) + drawn(here.text.slice(0, editor.cursor - here.start)) };
}

/** A sent message, as it stays on the screen. */
export function sentText(text: string): string {
  const lines = text.split('\n');
  const kept = lines.length > KEPT_LINES + 1 ? [...lines.slice(0, KEPT_LINES), `… (${lines.length} lines)`] : lines;
  return kept.map((line, index) => (index === 0 ? PROMPT : INDENT) + line).join('\n');
}

const cutTo = (text: string, columns: number): string => {
  const [row] = rowsOf(text, columns - 1);
  return row!.end < text.length ? `${text.slice(0, row!.end)}…` : text;
};
