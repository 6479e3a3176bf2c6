import { type Fenced, fencedBlocks, readLine, type Span } from './phone-text.ts';

/** A smaller limit leaves no space for text between two fences. */
const SMALLEST = 32;
/** An earlier cut would leave a message of a few words, so the next finer boundary is used. */
const EARLIEST = 1 / 3;

/** Whether to send a text as a file: it is longer than `limit` (UTF-16 units; 0 means never). */
export function asFile(text: string, limit: number): boolean {
  return limit > 0 && text.length > limit;
}

/**
 * The parts of a message, each at most `limit` UTF-16 units. It is cut at paragraphs, else at lines, sentences or
 * words, and at last between two visible characters. A fenced block that is cut is closed and opened again. Without
 * these fences the parts together are the text; an empty text has no parts.
 */
export function splitText(text: string, limit = 4000): string[] {
  return cutText(text, limit).parts;
}

/** `fallbacks` counts the cuts that found no paragraph. */
export function cutText(text: string, limit: number): { parts: string[]; fallbacks: number } {
  const size = Math.max(SMALLEST, limit);
  const blocks = fencedBlocks(text);
  const parts: string[] = [];
  let fallbacks = 0;
  let reopened = '';
  let at = 0;
  while (at < text.length) {
    if (reopened.length + text.length - at <= size) {
      parts.push(reopened + text.slice(at));
      break;
    }
    const { cut, paragraph } = place(text, at, size - reopened.length, blocks);
    if (!paragraph) fallbacks += 1;
    const block = fenceAround(blocks, cut, size);
    const part = reopened + text.slice(at, cut);
    parts.push(block ? `${part}${part.endsWith('\n') ? '' : '\n'}${block.fence}` : part);
    reopened = block ? `${block.fence}\n` : '';
    at = cut;
  }
  return { parts, fallbacks };
}

/** The fenced block whose code is cut at an offset. A block whose fence is as long as the parts is left alone. */
function fenceAround(blocks: readonly Fenced[], cut: number, size: number): Fenced | undefined {
  return blocks.find(({ codeStart, codeEnd, fence }) => cut > codeStart && cut < codeEnd && fence.length * 4 < size);
}

const pattern = {
  paragraph: /\n\s*\n/g,
  line: /\n/g,
  sentence: /[.!?…。！？]["'”’)\]*_~]*(?:\s+|(?<=[。！？]))/g,
  word: /\s+/g,
};

const lineMark = /[^\S\n]*(?:[-*◦](?:\s|$)|[☐☑>])/uy;

/** Where to cut a text of at most `room` units that starts at `at`. */
function place(text: string, at: number, room: number, blocks: readonly Fenced[]): { cut: number; paragraph: boolean } {
  const window = text.slice(at, at + room + 1);
  const inside = (offset: number) => blocks.find(({ start, end }) => offset > start && offset < end);
  const closing = (offset: number) => {
    const block = fenceAround(blocks, offset, Infinity);
    return block ? block.fence.length + 1 : 0;
  };
  const fits = (offset: number) => offset > at && offset - at + closing(offset) <= room;
  /**
   * Inside code a cut is allowed only between lines, and not directly behind the opening or before the closing fence.
   */
  const allowed = (offset: number, level: keyof typeof pattern) => {
    const block = inside(offset);
    if (!block) return true;
    return (level === 'line' || level === 'word') && offset > block.codeStart && offset < block.codeEnd;
  };
  const marked = reader(text);
  /** Words inside a line that a phone would take for a list or quote mark at the beginning of a message. */
  const becomesMark = (offset: number) => {
    lineMark.lastIndex = offset;
    return text[offset - 1] !== '\n' && !inside(offset) && lineMark.test(text);
  };
  const levels = [
    { level: 'paragraph', earliest: at + room * EARLIEST, through: true },
    { level: 'line', earliest: at + room * EARLIEST, through: true },
    { level: 'sentence', earliest: at + room * EARLIEST, through: false },
    { level: 'word', earliest: at, through: false },
    { level: 'word', earliest: at, through: true },
  ] as const;
  for (const { level, earliest, through } of levels) {
    const ends = [...window.matchAll(pattern[level])].map((match) => at + match.index + match[0].length);
    const suits = (end: number) =>
      end >= earliest &&
      fits(end) &&
      allowed(end, level) &&
      !becomesMark(end) &&
      !joined.test(text.slice(end, end + 2));
    const found = ends.findLast((end) => suits(end) && (through || inside(end) !== undefined || !marked(end)));
    if (found !== undefined) return { cut: found, paragraph: level === 'paragraph' };
  }
  return {
    cut: character(text, at, room, (offset) => fits(offset) && allowed(offset, 'word') && !becomesMark(offset)),
    paragraph: false,
  };
}

/**
 * Tells whether an offset is within emphasis, code or an address of its line. It keeps the last line that it read, for
 * texts that are one line.
 */
function reader(text: string): (offset: number) => boolean {
  let last: { start: number; spans: Span[] } | undefined;
  return (offset) => {
    const start = text.lastIndexOf('\n', offset - 1) + 1;
    if (last?.start !== start) {
      const end = text.indexOf('\n', offset);
      last = { start, spans: readLine(text.slice(start, end < 0 ? undefined : end)) };
    }
    return last.spans.some((span) => start + span.start < offset && offset < start + span.end);
  };
}

/** Characters that belong to the character before them. */
const joined = /^[\p{M}\p{Grapheme_Extend}\p{Emoji_Modifier}\u200d]/u;

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The last boundary between two characters. It cuts within a character only when that is longer than a part. */
function character(text: string, at: number, room: number, fits: (offset: number) => boolean): number {
  let best = at;
  for (const { index, segment } of characters.segment(text.slice(at, at + room + 64))) {
    const end = at + index + segment.length;
    if (end > at + room) break;
    if (fits(end)) best = end;
  }
  if (best > at) return best;
  for (let end = at + room; end > at + 1; end--)
    if (fits(end) && !/^[\udc00-\udfff]/.test(text.slice(end, end + 1))) return end;
  return at + room;
}
