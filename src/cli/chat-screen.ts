import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import pc from 'picocolors';
import type { Colors } from 'picocolors/types.js';

/**
 * What a chat draws on. On a terminal the lines that are finished scroll up, and below them stays a live area of three
 * parts: the line that is being written, what is running now, and the line that the person types. Without a terminal
 * only finished lines exist.
 */
export interface Screen {
  readonly interactive: boolean;
  readonly colors: Colors;
  readonly lines: Interface;
  /** finished text, above the live area */
  print(text: string): void;
  /** the line that is being written; replaces the last one */
  partial(text: string): void;
  /** what is running now, one line; '' for nothing */
  status(text: string): void;
  close(): void;
}

interface ScreenOptions {
  input: Readable & { isTTY?: boolean };
  output: Writable & { isTTY?: boolean; columns?: number };
  history: string[];
}

const PROMPT = '› ';

export function createScreen({ input, output, history }: ScreenOptions): Screen {
  const interactive = Boolean(input.isTTY && output.isTTY);
  const colors = pc.createColors(Boolean(output.isTTY) && pc.isColorSupported);
  if (!interactive) {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    return { interactive, colors, lines, print: (text) => void output.write(`${text}\n`), partial: () => {}, status: () => {}, close: () => lines.close() };
  }

  const lines = createInterface({ input, output, terminal: true, prompt: PROMPT, history, historySize: 500, removeHistoryDuplicates: true });
  // a window that is closed takes the terminal away, and readline cannot put its mode back
  lines.on('error', () => lines.emit('close'));
  let partial = '';
  let status = '';
  /** false between a submitted line and the next prompt: the cursor is then on an empty line below everything */
  let drawn = false;
  let closed = false;

  const width = () => Math.max(20, output.columns ?? 80);
  const live = () => (partial === '' ? '' : `${partial}\n`) + (status === '' ? '' : `${colors.dim(cutTo(status, width() - 1))}\n`) + PROMPT;
  /**
   * readline redraws from the top of what it drew last, as many rows up as the cursor stood below it. It does so again
   * for text that went between, so as many rows are put under that text first: all with its public interface.
   */
  const redraw = (above?: string) => {
    if (closed) return;
    if (above !== undefined) {
      const rows = drawn ? lines.getCursorPos().rows : 0;
      output.write(`${rows > 0 ? `\x1b[${rows}A` : ''}\r\x1b[J${above}\n${'\n'.repeat(rows)}`);
    }
    lines.setPrompt(live());
    lines.prompt(true);
    drawn = true;
  };

  // A submitted line stays on the screen as it was drawn; the live parts above it must not.
  const beforeSubmit = (_: string | undefined, key?: { name?: string }) => {
    if ((key?.name !== 'return' && key?.name !== 'enter') || !drawn) return;
    lines.setPrompt(PROMPT);
    lines.prompt(true);
  };
  input.prependListener('keypress', beforeSubmit);
  /**
   * readline writes pasted characters without noticing that they wrapped, and would then redraw one row too low. A
   * character that fills a row leaves the cursor on it until the next one comes; hence the row less.
   */
  const afterKey = () => {
    const counted = lines as Interface & { prevRows?: number };
    const { rows, cols } = lines.getCursorPos();
    if (!drawn || closed || counted.prevRows === undefined || counted.prevRows >= rows) return;
    counted.prevRows = cols === 0 ? rows - 1 : rows;
    lines.prompt(true);
  };
  input.on('keypress', afterKey);
  lines.prependListener('line', () => {
    drawn = false;
  });
  lines.on('line', () => redraw());
  redraw();

  return {
    interactive,
    colors,
    lines,
    print: (text) => redraw(text),
    partial(text) {
      if (text === partial) return;
      partial = text;
      redraw();
    },
    status(text) {
      if (text === status) return;
      status = text;
      redraw();
    },
    close() {
      if (closed) return;
      partial = '';
      status = '';
      lines.setPrompt('');
      if (drawn && lines.line === '') lines.prompt(true);
      closed = true;
      input.off('keypress', beforeSubmit);
      input.off('keypress', afterKey);
      lines.close();
    },
  };
}

const cutTo = (text: string, columns: number): string => (text.length > columns ? `${text.slice(0, columns - 1)}…` : text);
