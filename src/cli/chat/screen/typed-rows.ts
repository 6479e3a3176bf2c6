import type { Editor } from './editor.ts';
import { drawn, rowsOf } from './layout.ts';

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
