import { toWhatsApp } from './markup.ts';
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
  const layout = layoutOf(text);
  const parts: string[] = [];
  let fallbacks = 0;
  let reopened = '';
  let at = 0;
  while (at < text.length) {
    if (reopened.length + text.length - at <= size) {
      parts.push(reopened + text.slice(at));
      break;
    }
    const { cut, paragraph } = place(text, at, size - reopened.length, layout);
    if (!paragraph) fallbacks += 1;
    const block = fenceAround(layout.block(cut), cut, size);
    const part = reopened + text.slice(at, cut);
    parts.push(block ? `${part}${part.endsWith('\n') ? '' : '\n'}${block.fence}` : part);
    reopened = block ? `${block.fence}\n` : '';
    at = cut;
  }
  return { parts, fallbacks };
}

/** What a text is at an offset. Each answer takes a few steps, however long the text is and whatever is in it. */
interface Layout {
  /** the fenced block that an offset is in */
  block(offset: number): Fenced | undefined;
  /** whether it is within emphasis, code or an address of its line */
  marked(offset: number): boolean;
}

function layoutOf(text: string): Layout {
  const blocks = fencedBlocks(text);
  return {
    block: (offset) => {
      const last = lastBefore(blocks, offset);
      return last && offset < last.end ? last : undefined;
    },
    marked: reader(text),
  };
}

/** The last of these that begins before an offset. They are in their order. */
function lastBefore<T extends { start: number }>(all: readonly T[], offset: number): T | undefined {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]!.start < offset) low = middle + 1;
    else high = middle;
  }
  return all[low - 1];
}

/** The block, if its code is cut at an offset. A block whose fence is as long as the parts is left alone. */
const fenceAround = (block: Fenced | undefined, cut: number, size: number): Fenced | undefined =>
  block && cut > block.codeStart && cut < block.codeEnd && block.fence.length * 4 < size ? block : undefined;

const pattern = {
  paragraph: /\n\s*\n/g,
  line: /\n/g,
  sentence: /[.!?…。！？]["'”’)\]*_~]*(?:\s+|(?<=[。！？]))/g,
  word: /\s+/g,
};

const lineMark = /[^\S\n]{0,64}(?:[-*◦](?:\s|$)|[☐☑>])/uy;

/** Where to cut a text of at most `room` units that starts at `at`. */
function place(text: string, at: number, room: number, layout: Layout): { cut: number; paragraph: boolean } {
  const window = text.slice(at, at + room + 1);
  const { block: inside, marked } = layout;
  const closing = (offset: number) => {
    const block = fenceAround(inside(offset), offset, Infinity);
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

/** Tells whether an offset is within a span of its line. It keeps the line that it read last. */
function reader(text: string): (offset: number) => boolean {
  let last: { start: number; end: number; spans: Array<Pick<Span, 'start' | 'end'>> } | undefined;
  return (offset) => {
    if (!last || offset <= last.start || offset > last.end) {
      const start = text.lastIndexOf('\n', offset - 1) + 1;
      const end = text.indexOf('\n', offset);
      const line = { start, end: end < 0 ? text.length : end };
      last = { ...line, spans: joinedSpans(readLine(text.slice(line.start, line.end))) };
    }
    const at = offset - last.start;
    const span = lastBefore(last.spans, at);
    return span !== undefined && at < span.end;
  };
}

/** Spans that share more than an end become one. */
function joinedSpans(spans: readonly Span[]): Array<Pick<Span, 'start' | 'end'>> {
  const all: Array<Pick<Span, 'start' | 'end'>> = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const before = all.at(-1);
    if (before && start < before.end) before.end = Math.max(before.end, end);
    else all.push({ start, end });
  }
  return all;
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

/** Counters of formatting, under the names of `responseFormattingMetrics`. */
interface FormattingCounters {
  /** Replies whose markup differs from their markdown. */
  normalizedCount: number;
  /** Replies that became more than one message. */
  chunkedCount: number;
  /** Cuts that found no paragraph to cut at. */
  fallbackSplitCount: number;
}

/**
 * The messages of a reply, each at most `limit` UTF-16 units, with the counters of this reply alone. A blank reply has
 * no messages.
 */
export function formatReply(markdown: string, limit: number): { parts: string[]; counters: FormattingCounters } {
  const markup = toWhatsApp(markdown);
  const cut = cutText(markup, limit);
  // WhatsApp refuses a message without a visible character
  const parts = cut.parts.filter((part) => part.trim() !== '');
  return {
    parts,
    counters: {
      normalizedCount: markup === markdown ? 0 : 1,
      chunkedCount: parts.length > 1 ? 1 : 0,
      fallbackSplitCount: cut.fallbacks,
    },
  };
}
