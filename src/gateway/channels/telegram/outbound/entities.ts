import type { MessageEntity } from '@grammyjs/types';
import type { Nodes, Table } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { fenceDiffs } from '../../shared/diffs.ts';
import { isParseable } from '../../shared/markdown.ts';

/** A text with its formatting. Offsets and lengths are UTF-16 units, as Telegram counts. */
export interface Formatted {
  text: string;
  entities: MessageEntity[];
}

type Mark =
  | { type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'blockquote' }
  | { type: 'text_link'; url: string }
  | { type: 'pre'; language?: string };

/** A piece of text with the marks that are on it, the outermost first. */
interface Piece {
  text: string;
  marks: readonly Mark[];
}

/** Deeper nesting, which nobody writes, is shown as it was written. */
const DEEPEST = 40;

/** Text and entities that show what the markdown says. Every word survives. Never throws. */
export function formatted(markdown: string): Formatted {
  const source = fenceDiffs(markdown.toWellFormed());
  if (!isParseable(source)) return { text: source, entities: [] };
  try {
    const tree = fromMarkdown(source, {
      extensions: [gfm({ singleTilde: false })],
      mdastExtensions: [gfmFromMarkdown()],
    });
    const definitions = new Map<string, string>();
    for (const node of tree.children) if (node.type === 'definition') definitions.set(node.identifier, node.url);
    return joined(new Writer(source, definitions).blocks(tree.children, [], 0));
  } catch (error) {
    // extreme nesting overflows the stack of any tree walker; then the text is sent as it was written
    if (!(error instanceof RangeError)) throw error;
    return { text: source, entities: [] };
  }
}

/** Code holds no other entity and is in no other one. Quotes hold no quotes. */
function allowed(marks: readonly Mark[]): readonly Mark[] {
  const code = marks.find(({ type }) => type === 'code' || type === 'pre');
  if (code) return [code];
  const quote = marks.find(({ type }) => type === 'blockquote');
  return marks.filter(
    (mark, at) =>
      (mark.type !== 'blockquote' || mark === quote) && marks.findIndex(({ type }) => type === mark.type) === at,
  );
}

/** The pieces as one text; each mark becomes an entity wherever it goes on without a gap. */
function joined(pieces: readonly Piece[]): Formatted {
  let text = '';
  const entities: MessageEntity[] = [];
  let open = new Map<Mark, MessageEntity>();
  for (const piece of pieces) {
    if (piece.text === '') continue;
    const next = new Map<Mark, MessageEntity>();
    for (const mark of allowed(piece.marks)) {
      const entity = open.get(mark) ?? ({ ...mark, offset: text.length, length: 0 } as MessageEntity);
      if (entity.length === 0) entities.push(entity);
      entity.length += piece.text.length;
      next.set(mark, entity);
    }
    open = next;
    text += piece.text;
  }
  return { text, entities };
}

class Writer {
  private readonly source: string;
  private readonly definitions: ReadonlyMap<string, string>;

  constructor(source: string, definitions: ReadonlyMap<string, string>) {
    this.source = source;
    this.definitions = definitions;
  }

  /** Blocks with an empty line between them; in a list item with a line end only. */
  blocks(nodes: readonly Nodes[], marks: readonly Mark[], depth: number, gap = '\n\n'): Piece[] {
    const out: Piece[] = [];
    for (const node of nodes) {
      const pieces = depth > DEEPEST ? [this.asWritten(node, marks)] : this.block(node, marks, depth + 1);
      if (pieces.length === 0) continue;
      if (out.length > 0) out.push({ text: gap, marks });
      out.push(...pieces);
    }
    return out;
  }

  private block(node: Nodes, marks: readonly Mark[], depth: number): Piece[] {
    switch (node.type) {
      case 'paragraph':
        return this.inline(node.children, marks, depth);
      case 'heading':
        return this.inline(node.children, [...marks, { type: 'bold' }], depth);
      case 'code': {
        const language = /^[\w+#.-]{1,40}$/.exec(node.lang ?? '')?.[0];
        // Telegram refuses an entity without text
        return [{ text: node.value || ' ', marks: [...marks, { type: 'pre', ...(language && { language }) }] }];
      }
      case 'blockquote':
        return this.blocks(node.children, [...marks, { type: 'blockquote' }], depth, '\n');
      case 'list':
        return node.children.flatMap((item, at) => {
          const box = item.checked === true ? '☑ ' : item.checked === false ? '☐ ' : '';
          const mark = node.ordered ? `${(node.start ?? 1) + at}. ${box}` : box || '• ';
          const inner = this.blocks(item.children, marks, depth, '\n');
          const first = { text: `${at > 0 ? '\n' : ''}${mark}`, marks };
          return [first, ...inner.map((piece) => indented(piece))];
        });
      case 'table':
        return [{ text: this.drawn(node), marks: [...marks, { type: 'pre' }] }];
      case 'thematicBreak':
        return [{ text: '—————', marks }];
      case 'definition':
        return [];
      case 'footnoteDefinition':
        return [
          { text: `[${node.label ?? node.identifier}] `, marks },
          ...this.blocks(node.children, marks, depth, '\n'),
        ];
      default:
        return [this.asWritten(node, marks)];
    }
  }

  private inline(nodes: readonly Nodes[], marks: readonly Mark[], depth: number): Piece[] {
    return nodes.flatMap((node) => this.span(node, marks, depth + 1));
  }

  private span(node: Nodes, marks: readonly Mark[], depth: number): Piece[] {
    if (depth > DEEPEST * 2) return [this.asWritten(node, marks)];
    const within = (mark: Mark, children: readonly Nodes[]) => this.inline(children, [...marks, mark], depth);
    switch (node.type) {
      case 'text':
        return [{ text: node.value, marks }];
      case 'strong':
        return within({ type: 'bold' }, node.children);
      case 'emphasis':
        return within({ type: 'italic' }, node.children);
      case 'delete':
        return within({ type: 'strikethrough' }, node.children);
      case 'inlineCode':
        return [{ text: node.value, marks: [...marks, { type: 'code' }] }];
      case 'break':
        return [{ text: '\n', marks }];
      case 'link':
        return this.link(node.url, this.inline(node.children, marks, depth), marks);
      case 'linkReference': {
        const url = this.definitions.get(node.identifier);
        return url === undefined
          ? [this.asWritten(node, marks)]
          : this.link(url, this.inline(node.children, marks, depth), marks);
      }
      case 'image':
        return this.link(node.url, [{ text: node.alt || node.url, marks }], marks);
      case 'footnoteReference':
        return [{ text: `[${node.label ?? node.identifier}]`, marks }];
      default:
        return [this.asWritten(node, marks)];
    }
  }

  /** Other addresses than these are not shown as links, so they are written out. */
  private link(url: string, shown: Piece[], marks: readonly Mark[]): Piece[] {
    const text = shown.map((piece) => piece.text).join('');
    if (text === url || `mailto:${text}` === url) return shown;
    if (!/^(https?|tg|mailto|tel):/i.test(url) || text.trim() === '') return [...shown, { text: ` (${url})`, marks }];
    const mark: Mark = { type: 'text_link', url };
    return shown.map((piece) => ({ ...piece, marks: [...piece.marks, mark] }));
  }

  /** Columns of the same width, because a phone shows it in monospace. */
  private drawn(table: Table): string {
    const rows = table.children.map((row) =>
      row.children.map((cell) => joined(this.inline(cell.children, [], 0)).text.replace(/\s+/g, ' ')),
    );
    const widths = rows.reduce<number[]>((most, row) => {
      row.forEach((cell, at) => {
        most[at] = Math.min(40, Math.max(most[at] ?? 0, cell.length));
      });
      return most;
    }, []);
    const line = (row: string[]) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join(' │ ')
        .trimEnd();
    const [head, ...body] = rows.map(line);
    return [head ?? '', widths.map((width) => '─'.repeat(width)).join('─┼─'), ...body].join('\n');
  }

  private asWritten(node: Nodes, marks: readonly Mark[]): Piece {
    const { start, end } = node.position ?? {};
    const text = start && end ? this.source.slice(start.offset, end.offset) : 'value' in node ? node.value : '';
    return { text, marks };
  }
}

/** The lines of a list item below its first one. Code stays as it is. */
const indented = (piece: Piece): Piece =>
  piece.marks.some(({ type }) => type === 'pre') ? piece : { ...piece, text: piece.text.replace(/\n(?=.)/g, '\n  ') };

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * The text in parts of at most `limit` units, cut at a paragraph, a line or a word where there is one, and never within
 * a character. Formatting goes on in the next part. Blank parts are left out.
 */
export function cutFormatted({ text, entities }: Formatted, limit: number): Formatted[] {
  const parts: Formatted[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text.length - at <= limit ? text.length : placeToCut(text, at, limit);
    const part = trimmed({ text: text.slice(at, end), entities: within(entities, at, end) });
    if (part.text !== '') parts.push(part);
    at = end;
  }
  return parts;
}

/** A cut further ahead than this share of the room would waste a message. */
const EARLIEST = 0.5;

function placeToCut(text: string, at: number, limit: number): number {
  const window = text.slice(at, at + limit);
  for (const [boundary, earliest] of [
    ['\n\n', EARLIEST],
    ['\n', EARLIEST],
    [' ', 0],
  ] as const) {
    const found = window.lastIndexOf(boundary);
    if (found > 0 && found >= limit * earliest) return at + found + boundary.length;
  }
  let best = 0;
  for (const { index, segment } of characters.segment(text.slice(at, at + limit + 64))) {
    if (index + segment.length > limit) break;
    best = index + segment.length;
  }
  if (best > 0) return at + best;
  // one character is longer than a part
  return at + (/[\ud800-\udbff]/.test(text[at + limit - 1]!) ? limit - 1 : limit);
}

const within = (entities: readonly MessageEntity[], start: number, end: number): MessageEntity[] =>
  entities.flatMap((entity) => {
    const from = Math.max(entity.offset, start);
    const to = Math.min(entity.offset + entity.length, end);
    return to > from ? [{ ...entity, offset: from - start, length: to - from }] : [];
  });

/** Telegram takes white space off both ends, which would move every entity. */
function trimmed({ text, entities }: Formatted): Formatted {
  const start = /^\s*\n|^\s+$/.exec(text)?.[0].length ?? 0;
  const end = text.trimEnd().length;
  return end <= start
    ? { text: '', entities: [] }
    : { text: text.slice(start, end), entities: within(entities, start, end) };
}
