import { stripVTControlCharacters } from 'node:util';
import type { Colors } from 'picocolors/types.js';
import { doingInWords } from '../../../domain/chat/words/step-words.ts';

/**
 * Foreign text (from a model, a web page, another person) must not control the terminal: no escape sequence, control
 * character or bidirectional override gets through. Newlines and tabs stay.
 */
export const plain = (text: string): string =>
  stripVTControlCharacters(text)
    .replace(/\r\n?/g, '\n')
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '');

/** One line: for status lines and summaries. */
export const oneLine = (text: string, max: number): string => {
  const line = plain(text).replace(/\s+/g, ' ').trim();
  return line.length > max ? `${line.slice(0, Math.max(0, max - 1))}…` : line;
};

/** `7 s`, `2 min 5 s`, `3 h 4 min` */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A tool call for one line: its command, or what it does in words with its most informative argument. */
export function callInWords(name: string, input: unknown): string {
  const { command } = (input && typeof input === 'object' ? input : {}) as { command?: unknown };
  if (typeof command === 'string' && command.trim() !== '') return `running: ${oneLine(command, LABEL_CHARS)}`;
  return `${doingInWords(oneLine(name, 40))} ${gist(input)}`.trim();
}

const LABEL_CHARS = 60;

function gist(input: unknown): string {
  const values = input && typeof input === 'object' ? Object.values(input) : [input];
  const first = values.find((value) => typeof value === 'string' && value.trim() !== '');
  return typeof first === 'string' ? oneLine(first, LABEL_CHARS) : '';
}

/** Bold, code and headings of markdown for one line of a terminal; `fence`: the line is in a code block. */
export function styleLine(line: string, fence: boolean, colors: Colors): string {
  if (!colors.isColorSupported) return line;
  if (fence || isFence(line)) return colors.cyan(line);
  const heading = /^#{1,6} +(?! )(.*)$/.exec(line);
  if (heading) return colors.bold(heading[1]);
  return line.replace(/`([^`]+)`|\*\*([^*]+)\*\*/g, (_, code: string | undefined, bold: string) =>
    code !== undefined ? colors.cyan(code) : colors.bold(bold),
  );
}
/** The same for each line of a whole text. */
export function styledText(text: string, colors: Colors): string {
  let fence = false;
  const styled = text.split('\n').map((line) => {
    const shown = styleLine(line, fence, colors);
    if (isFence(line)) fence = !fence;
    return shown;
  });
  return styled.join('\n');
}
export const isFence = (line: string): boolean => /^\s*(```|~~~)/.test(line);
