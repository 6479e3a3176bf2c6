import { createInterface } from 'node:readline';
import pc from 'picocolors';
import type { Colors } from 'picocolors/types.js';
import { isDumbTerminal } from '../../../config.ts';
import { goesOn, messageOf, nextLine } from './editor.ts';
import { TerminalScreen } from './terminal-screen.ts';
import type { Screen, ScreenOptions } from './types.ts';

export function createScreen(options: ScreenOptions): Screen {
  const { input, output, dumb = isDumbTerminal() } = options;
  const interactive = Boolean(input.isTTY && output.isTTY);
  const colors = pc.createColors(interactive && pc.isColorSupported && !dumb);
  return interactive && !dumb ? new TerminalScreen(options, colors) : plainScreen(options, colors, interactive);
}

/** A line that cannot be taken back is only for what lasts. */
const LASTS_MS = 500;

/**
 * A screen on which nothing can be taken back: a script, or a terminal without escape sequences. Each line of a script
 * is a message; a person may write a message of several lines.
 */
function plainScreen(
  { input, output, onMessage, onInterrupt, onEnd }: ScreenOptions,
  colors: Colors,
  interactive: boolean,
): Screen {
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  let open = '';
  let status = '';
  let begun: NodeJS.Timeout | undefined;
  const print = (text: string): void => void output.write(`${text}\n`);
  lines.on('line', (line) => {
    if (!interactive) return onMessage(line);
    const text = open + line;
    open = goesOn(text) ? nextLine(text) : '';
    if (open === '') onMessage(messageOf(text));
  });
  lines.on('error', () => lines.close());
  lines.once('close', onEnd);
  // without raw mode the terminal turns Ctrl-C into a signal
  if (interactive) process.on('SIGINT', onInterrupt);
  return {
    interactive,
    colors,
    print,
    partial: () => {},
    status(what) {
      if (what === status) return;
      status = what;
      clearTimeout(begun);
      if (interactive && what !== '') begun = setTimeout(() => print(`(${what})`), LASTS_MS);
    },
    clearInput() {
      const some = open !== '';
      open = '';
      return some;
    },
    size: { columns: output.columns ?? 80, rows: output.rows ?? 24 },
    close() {
      clearTimeout(begun);
      process.off('SIGINT', onInterrupt);
      lines.close();
    },
  };
}
