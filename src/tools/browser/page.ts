import type { BrowserAnswer, BrowserCommand } from '../../adapters/kennel/browser/browsers.ts';
import { shownHost } from '../../domain/tasks/egress.ts';
import { inline, visible } from '../../domain/text/foreign-text.ts';
import { prefix } from '../../domain/text/storable.ts';
import type { ToolOutcome } from '../tool.ts';

/** A page as the model reads it: its elements with numbers. */

/** Commands that read the page; their answers are the last ones of a call. `parts`: what of it is read. */
export const readPage = (parts: readonly string[] = []): BrowserCommand[] => [
  ['get', 'url'],
  ['get', 'title'],
  ['snapshot', '--compact', '--urls', ...parts],
];
export const READ_PAGE: readonly BrowserCommand[] = readPage();

interface Page {
  url: string;
  title: string;
  /** the accessibility tree, one element in a line */
  tree: string;
  /** elements that have a number */
  elements: number;
}

const SHOWN_HEAD = 5_400;
const SHOWN_TAIL = 1_400;
/** The longest tree that is stored. */
const MOST_CHARS = 100_000;
const MOST_TAIL = 20_000;

/** The page that the last answers of a call describe; null when one of them failed. */
export function pageIn({ answers }: Pick<BrowserAnswer, 'answers'>): Page | null {
  const [url, title, snapshot] = answers.slice(-READ_PAGE.length);
  if (!url?.success || !title?.success || !snapshot?.success) return null;
  const refs = snapshot.result?.refs as Record<string, unknown> | undefined;
  return {
    url: String(url.result?.url ?? ''),
    title: inline(String(title.result?.title ?? '')),
    // the contract numbers elements, agent-browser writes e12
    tree: visible(String(snapshot.result?.snapshot ?? '')).replace(/(?<=[[ ])ref=e(?=\d+[,\]])/g, 'ref='),
    elements: Object.keys(refs ?? {}).length,
  };
}

/** Where no page was opened yet, or its process died. */
export const isEmpty = ({ url }: Page): boolean => url === '' || url === 'about:blank';
export const isErrorPage = ({ url }: Page): boolean => url.startsWith('chrome-error:');

/** The result of a call that ends with a page. `notes`: our own sentences about what happened. */
export function pageOutcome(
  page: Page,
  { refused, fresh }: Pick<BrowserAnswer, 'refused' | 'fresh'>,
  notes: readonly string[] = [],
): ToolOutcome {
  const { url, title, tree, elements } = page;
  const host = bareHost(URL.parse(url));
  // by plain HTTP, the refusal of the gate is the page; another request to the same host may be refused, too
  const mine = refused.find((at) => at.host === host && tree.includes(at.words));
  const metadata = {
    url,
    title,
    elements,
    length: tree.length,
    truncated: tree.length > MOST_CHARS,
    refused: refused.map((at) => shownHost(at)),
    newBrowser: fresh,
  };
  if (mine) return { ok: false, output: mine.words, metadata };
  const others =
    refused.length > 0
      ? [`The page also asked for ${inline(refused.map((at) => shownHost(at)).join(', '), 200)}, which was refused.`]
      : [];
  return {
    ok: true,
    output: [title, url, ...notes, ...others, '', shownTree(tree)]
      .filter((line, at) => line !== '' || at > 0)
      .join('\n'),
    metadata,
  };
}

/** The host as the gate names it: without the brackets of IPv6. */
const bareHost = (url: URL | null): string => url?.hostname.replace(/^\[|\]$/g, '') ?? '';

/** Where an address leads, as the gate names it. */
export const targetOf = (url: URL): { host: string; port: number } => ({
  host: bareHost(url),
  port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
});

/**
 * All of a short tree. Of a long one the head and the tail come first, where the model sees them, and then the whole,
 * to be read on.
 */
function shownTree(tree: string): string {
  if (tree === '' || tree === '(empty page)') return '(nothing on this page can be read)';
  if (tree.length <= SHOWN_HEAD + SHOWN_TAIL) return tree;
  const left = tree.length - SHOWN_HEAD - SHOWN_TAIL;
  return [
    wholeLines(prefix(tree, SHOWN_HEAD)),
    `[${left} characters of this page are left out here. All of it comes below the next lines, which are its end: read on for it.]`,
    tree.slice(-SHOWN_TAIL).replace(/^[^\n]*\n/, ''),
    '',
    'The page from its beginning:',
    bounded(tree),
  ].join('\n');
}

export function bounded(tree: string): string {
  if (tree.length <= MOST_CHARS) return tree;
  const head = prefix(tree, MOST_CHARS - MOST_TAIL);
  return `${wholeLines(head)}\n[${tree.length - MOST_CHARS} characters in the middle are not stored]\n${tree.slice(-MOST_TAIL).replace(/^[^\n]*\n/, '')}`;
}

const wholeLines = (text: string): string => (text.includes('\n') ? text.slice(0, text.lastIndexOf('\n')) : text);

/** Why a command failed, for the model. */
export function whyNot({ ref }: { ref?: number | undefined }, error: string): string {
  if (/unknown ref/i.test(error))
    return `There is no element ${ref} on the page now. Numbers change when another page is opened: look with browser_snapshot.`;
  return `That was not done: ${inline(error) || 'the browser gave no reason.'}`;
}
