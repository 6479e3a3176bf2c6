import pc from 'picocolors';
import { isDumbTerminal } from '../../../config.ts';
import { plainScreen } from './plain-screen.ts';
import { TerminalScreen } from './terminal-screen.ts';
import type { Screen, ScreenOptions } from './types.ts';

export function createScreen(options: ScreenOptions): Screen {
  const { input, output, dumb = isDumbTerminal() } = options;
  const interactive = Boolean(input.isTTY && output.isTTY);
  const colors = pc.createColors(interactive && pc.isColorSupported && !dumb);
  return interactive && !dumb ? new TerminalScreen(options, colors) : plainScreen(options, colors, interactive);
}
