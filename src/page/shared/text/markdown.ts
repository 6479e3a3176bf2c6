import { type Inline, inlineOf } from './inline.ts';

/**
 * Reads the Markdown that models write in chats. What is no Markdown of this kind is shown as it was written; nothing
 * is left out. The time grows with the length of the text, whatever it holds: it is read again each time that more of
 * an answer streams in, and strangers may have written it.
 */

export type Block =
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'heading'; depth: number; children: Inline[] }
  | { type: 'code'; text: string; language: string }
  | { type: 'quote'; children: Block[] }
  | { type: 'list'; start: number | null; items: ListItem[] }
  | { type: 'table'; header: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' };

interface ListItem {
  /** null: it is no task */
  checked: boolean | null;
  children: Block[];
}

/** Quotes and lists within each other; deeper ones are text. */
const DEEPEST = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)/;
const HEADING = /^ {0,3}(#{1,6})[ \t](.*)$/;
const RULE = /^ {0,3}(?:-[ \t]*-[ \t]*-|\*[ \t]*\*[ \t]*\*|_[ \t]*_[ \t]*_)[-*_ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}|\t|$)/;
const TASK = /^\[([ xX])\] /;
const DIVIDER = /^[-|: \t]*$/;

export const markdownOf = (text: string): Block[] => blocksOf(text.replaceAll('\r\n', '\n').split('\n'), 0);

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at]!.trim() === '') {
      at++;
      continue;
    }
    const [block, end] = blockAt(lines, at, depth);
    blocks.push(block);
    at = end;
  }
  return blocks;
}

/** The block that begins in this line, and the line after it. */
function blockAt(lines: readonly string[], at: number, depth: number): [Block, number] {
  const line = lines[at]!;
  const fence = FENCE.exec(line);
  if (fence) return codeAt(lines, at, fence[1]!, fence[2]!);
  const heading = HEADING.exec(line);
  if (heading)
    return [
      { type: 'heading', depth: heading[1]!.length, children: inlineOf(heading[2]!.replace(/ #+$/, '').trim()) },
      at + 1,
    ];
  if (RULE.test(line)) return [{ type: 'rule' }, at + 1];
  if (depth < DEEPEST && QUOTE.test(line)) return quoteAt(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return listAt(lines, at, depth);
  if (isTable(lines, at)) return tableAt(lines, at);
  return paragraphAt(lines, at, depth);
}

function codeAt(lines: readonly string[], at: number, fence: string, language: string): [Block, number] {
  let end = at + 1;
  while (end < lines.length && !isEndOfCode(lines[end]!, fence)) end++;
  return [{ type: 'code', text: lines.slice(at + 1, end).join('\n'), language }, end + 1];
}

const isEndOfCode = (line: string, fence: string): boolean => {
  const text = line.trim();
  return text.startsWith(fence) && text === fence[0]!.repeat(text.length);
};

function quoteAt(lines: readonly string[], at: number, depth: number): [Block, number] {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end]!)) end++;
  const inside = lines.slice(at, end).map((line) => line.replace(QUOTE, ''));
  return [{ type: 'quote', children: blocksOf(inside, depth + 1) }, end];
}

/** The items of a list have the same kind of mark; what is indented more belongs to the item before it. */
function listAt(lines: readonly string[], first: number, depth: number): [Block, number] {
  const mark = ITEM.exec(lines[first]!)![2]!;
  const items: ListItem[] = [];
  let at = first;
  while (at < lines.length) {
    const found = ITEM.exec(lines[at]!);
    if (!found || kindOf(found[2]!) !== kindOf(mark)) break;
    const width = found[0].length;
    const end = endOfItem(lines, at + 1, width);
    const inside = [lines[at]!.slice(width), ...lines.slice(at + 1, end).map((line) => dedented(line, width))];
    items.push(itemOf(inside, depth));
    at = end;
    // a list goes on after empty lines
    let next = at;
    while (next < lines.length && lines[next]!.trim() === '') next++;
    if (next < lines.length && next > at && ITEM.test(lines[next]!) && !RULE.test(lines[next]!)) at = next;
  }
  const number = /^\d+/.exec(mark)?.[0];
  return [{ type: 'list', start: number === undefined ? null : Number(number), items }, at];
}

const kindOf = (mark: string): string => mark.at(-1)!;

/** Indented lines, empty ones between them, and lines that only go on with its text. */
function endOfItem(lines: readonly string[], from: number, width: number): number {
  let end = from;
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]!;
    if (line.trim() === '') continue;
    const indent = line.length - line.trimStart().length;
    const goesOn = at === end && indent < width && !beginsBlock(line);
    if (indent < Math.min(width, 2) && !goesOn) break;
    if (indent < width && ITEM.test(line) && indent < 2) break;
    end = at + 1;
  }
  return end;
}

const dedented = (line: string, width: number): string =>
  line.slice(Math.min(width, line.length - line.trimStart().length));

function itemOf(lines: string[], depth: number): ListItem {
  const task = TASK.exec(lines[0]!);
  if (task) lines[0] = lines[0]!.slice(task[0].length);
  return { checked: task ? task[1] !== ' ' : null, children: blocksOf(lines, depth + 1) };
}

const isTable = (lines: readonly string[], at: number): boolean => {
  const divider = lines[at + 1];
  if (divider === undefined || !lines[at]!.includes('|')) return false;
  return divider.includes('-') && divider.includes('|') && DIVIDER.test(divider);
};

function tableAt(lines: readonly string[], at: number): [Block, number] {
  const header = cellsOf(lines[at]!);
  let end = at + 2;
  while (end < lines.length && lines[end]!.includes('|')) end++;
  const rows = lines.slice(at + 2, end).map((line) => {
    const cells = cellsOf(line);
    return header.map((_, column) => cells[column] ?? []);
  });
  return [{ type: 'table', header, rows }, end];
}

const cellsOf = (line: string): Inline[][] =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => inlineOf(cell.trim().replaceAll('\\|', '|')));

function paragraphAt(lines: readonly string[], at: number, depth: number): [Block, number] {
  let end = at + 1;
  while (
    end < lines.length &&
    lines[end]!.trim() !== '' &&
    !(depth < DEEPEST && beginsBlock(lines[end]!)) &&
    !isTable(lines, end)
  )
    end++;
  return [{ type: 'paragraph', children: inlineOf(lines.slice(at, end).join('\n').trim()) }, end];
}

/** A number begins a list in the middle of a text only if it is 1. */
const beginsBlock = (line: string): boolean =>
  FENCE.test(line) ||
  HEADING.test(line) ||
  RULE.test(line) ||
  QUOTE.test(line) ||
  /^ {0,3}(?:[-*+]|1[.)]) +\S/.test(line);

/** An address that a link may lead to; null for everything else, such as `javascript:`. */
export function safeAddress(href: string): string | null {
  if (!/^https?:\/\//i.test(href)) return null;
  try {
    return new URL(href).href;
  } catch {
    return null;
  }
}

/** The id of a file of the thread that a link or a picture names. */
export const attachmentIn = (href: string): string | null => /^attachment:([\w-]{1,80})$/.exec(href)?.[1] ?? null;
