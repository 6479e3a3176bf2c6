import { stripVTControlCharacters } from 'node:util';
import type { CommandResult } from '../../adapters/kennel/kennel.ts';
import type { ToolOutcome } from '../tool.ts';

/**
 * A program's output for people and models: without escape sequences, control characters and bidirectional overrides. A
 * line that was overwritten (a progress bar) stands as it was last.
 */
export const printed = (text: string): string =>
  stripVTControlCharacters(text)
    .replace(/(?<!\r)\r+\n/g, '\n')
    .replace(/(?<=^|\n)[^\n]*\r(?=[^\n])/g, '')
    .replace(/\r/g, '\n')
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '')
    .toWellFormed();

/** `0.4 s`, `12 s`, `3 min 5 s` */
export function took(ms: number): string {
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** How a command ended, in one sentence, and all its output. */
export function commandOutcome(what: string, result: CommandResult, ms: number, limitMs: number): ToolOutcome {
  const ok = result.code === 0 && !result.timedOut && !result.outOfMemory;
  const how = result.timedOut
    ? `was stopped after ${took(limitMs)}: it had not ended`
    : result.outOfMemory
      ? 'was ended because it needed more memory than a container has'
      : result.code === null
        ? 'was ended by a signal'
        : `${result.code === 0 ? 'succeeded' : 'failed'} with exit code ${result.code} after ${took(ms)}`;
  const [out, errors] = [result.stdout, result.stderr].map((text) =>
    printed(text)
      .replace(/^\s*\n/, '')
      .trimEnd(),
  );
  const parts = [
    `${what} ${how}.`,
    ...(out ? [out] : []),
    ...(errors ? [out ? `What it wrote to stderr:\n${errors}` : errors] : []),
    ...(!out && !errors ? ['It printed nothing.'] : []),
    ...(result.cut ? ['[the output was longer than what is kept: the middle is missing]'] : []),
  ];
  return {
    ok,
    output: parts.join('\n\n'),
    // in the spelling of the API, which shows it unchanged
    metadata: {
      exit_code: result.code,
      timed_out: result.timedOut,
      out_of_memory: result.outOfMemory,
      truncated: result.cut,
      duration_ms: Math.round(ms),
    },
  };
}
