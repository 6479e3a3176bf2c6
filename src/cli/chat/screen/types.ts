import type { Readable, Writable } from 'node:stream';
import type { Colors } from 'picocolors/types.js';

/**
 * What a chat draws on. On a terminal, finished lines scroll up above a live area of three parts: the line that is
 * being written, what runs now, and what the person types. Elsewhere there are only finished lines.
 */
export interface Screen {
  /** a person uses it */
  readonly interactive: boolean;
  readonly colors: Colors;
  /** finished text, above the live area */
  print(text: string): void;
  /** the line that is being written; replaces the previous one */
  partial(text: string): void;
  /**
   * what runs now, in one line; empty for nothing. `detail` changes constantly, so it is shown only where a line can be
   * taken back.
   */
  status(what: string, detail?: string): void;
  /** clears what is being typed; false when there was nothing */
  clearInput(): boolean;
  /** whole lines, as large as the screen is */
  readonly size: { columns: number; rows: number };
  close(): void;
}

export type ScreenInput = Readable & { isTTY?: boolean; setRawMode?: (raw: boolean) => unknown };
export type ScreenOutput = Writable & { isTTY?: boolean; columns?: number; rows?: number };

export interface ScreenOptions {
  input: ScreenInput;
  output: ScreenOutput;
  /** the terminal has no escape sequences; by default as TERM says */
  dumb?: boolean;
  /** sent messages, newest first */
  history: string[];
  onMessage(text: string): void;
  /** Ctrl-C */
  onInterrupt(): void;
  /** Ctrl-D, or the end of the input */
  onEnd(): void;
}
