import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

/** An attachment that a reply names, as `![alt](attachment:ID)` or `[text](attachment:ID)`. */
export interface Attached {
  id: string;
  caption: string;
}

const SCHEME = 'attachment:';
/** Most files in one reply. */
const MOST = 10;

/** Takes the attachments out of a reply. In code such a reference is only text, and stays. */
export function takeAttachments(markdown: string): { markdown: string; attached: Attached[] } {
  const none = { markdown, attached: [] };
  if (!markdown.includes(SCHEME) || !isParseable(markdown)) return none;
  try {
    return take(markdown);
  } catch (error) {
    // nesting by the thousand overflows the stack of any tree walker
    if (!(error instanceof RangeError)) throw error;
    return none;
  }
}

function take(markdown: string): { markdown: string; attached: Attached[] } {
  const found: Array<Attached & { start: number; end: number }> = [];
  const rest: Nodes[] = [fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })];
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    if ((node.type === 'image' || node.type === 'link') && node.url.startsWith(SCHEME) && node.position) {
      const { start, end } = node.position;
      found.push({
        id: node.url.slice(SCHEME.length),
        caption: node.type === 'image' ? (node.alt ?? '') : textOf(node),
        start: start.offset!,
        end: end.offset!,
      });
    } else if ('children' in node) rest.push(...node.children);
  }
  found.sort((a, b) => a.start - b.start);
  const taken = found.slice(0, MOST);
  let text = markdown;
  for (const { start, end } of taken.toReversed()) text = text.slice(0, start) + text.slice(end);
  return { markdown: text.trim(), attached: taken.map(({ id, caption }) => ({ id, caption })) };
}

const textOf = (node: Nodes): string =>
  'value' in node ? node.value : 'children' in node ? node.children.map(textOf).join('') : '';

const LONGEST = 200_000;
const DENSEST = 3_000;
/** Fifty nested quotes or lists, in one line or as the last step of a stair. */
const NESTED = /^[ \t]*(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+){50}|^[ \t>]{100,}(?:[-+*]|\d{1,9}[.)])[ \t]/m;

/**
 * Whether to parse this markdown at all. The parser's time grows with the square of the delimiters in a paragraph and
 * of the nesting (5,000 nested lists: 20 s), and a process that keeps a connection alive cannot wait that long.
 */
export function isParseable(markdown: string): boolean {
  if (markdown.length > LONGEST || NESTED.test(markdown)) return false;
  return (
    markdown.length <= DENSEST ||
    markdown.split(/\n\s*\n/).every((paragraph) => (paragraph.match(/[*_~[\]]/g) ?? []).length <= DENSEST)
  );
}
