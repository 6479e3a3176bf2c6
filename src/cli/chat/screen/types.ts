import type { Readable, Writable } from 'node:stream';
import type { Colors } from 'picocolors/types.js';

/**
 * What a chat draws on. On a terminal the lines that are finished scroll up, and below them stays a live area of three
 * parts: the line that is being written, what is running now, and what the person types. Elsewhere only finished lines exist.
 */
export interface Screen {
  /** a person sits there */
  readonly interactive: boolean;
  readonly colors: Colors;
  /** finished text, above the live area */
  print(text: string): void;
  /** the line that is being written; replaces the last one */
  partial(text: string): void;
  /** what is running now, one line; '' for nothing. `detail` changes all the time: it is shown only where a line can be taken back. */
  status(what: string, detail?: string): void;
  /** forgets what is being typed; false when that was nothing */
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
  /** it knows no escape sequences; as TERM says by default */
  dumb?: boolean;
  /** messages that were sent before, newest first */
  history: string[];
  onMessage(text: string): void;
  /** Ctrl-C */
  onInterrupt(): void;
  /** Ctrl-D, or the end of the input */
  onEnd(): void;
}
