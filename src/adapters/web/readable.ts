import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { type ReadablePage, SelectorError } from './readable-page.ts';

/** The parts of the DOM that are used here, because Node has no DOM types. */
interface Element {
  readonly innerHTML: string;
  readonly textContent: string | null;
  remove(): void;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
}
interface Document {
  readonly body: Element | null;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): ArrayLike<Element> & Iterable<Element>;
  cloneNode(deep: boolean): Document;
}

/** Above this Readability takes seconds, so the page is converted whole. */
const MAX_ELEMENTS = 20_000;
/** Above this even parsing takes too long, so the page is cut. UTF-16 code units. */
const MAX_HTML = 2_000_000;

const NOISE = 'script,style,noscript,template,iframe,object,embed,svg,canvas,link,meta';

/** The readable part of a page, or the first element that `selector` matches, as markdown with absolute links. */
export function readablePage(html: string, url: string, selector?: string): ReadablePage {
  const document: Document = parseHTML(wrapped(html.slice(0, MAX_HTML))).document as unknown as Document;
  const title = (document.querySelector('title')?.textContent ?? '').replace(/\s+/g, ' ').trim();
  const picked = selector ? pick(document, selector) : null;
  for (const element of document.querySelectorAll(NOISE)) element.remove();
  absolute(document, url);
  if (picked) return { title, markdown: toMarkdown(picked.innerHTML) };
  const article = document.querySelectorAll('*').length <= MAX_ELEMENTS ? extract(document) : null;
  return { title: article?.title || title, markdown: toMarkdown(article?.html ?? document.body?.innerHTML ?? '') };
}

/** linkedom creates no missing `html` or `body`, and both are needed below, so they are added. */
function wrapped(html: string): string {
  if (/<html[\s>]/i.test(html) && /<body[\s>]/i.test(html)) return html;
  return `<!doctype html><html><head></head><body>${html.replace(/<!doctype[^<>]*>|<\?xml[^<>]*>|<\/?(html|body)(\s[^<>]*)?>/gi, '')}</body></html>`;
}

function pick(document: Document, selector: string): Element {
  let found: Element | null;
  try {
    found = document.querySelector(selector);
  } catch {
    throw new SelectorError(`"${selector}" is not a valid CSS selector.`);
  }
  if (!found)
    throw new SelectorError(
      `Nothing on the page matches the selector "${selector}". Leave it out to read the whole page.`,
    );
  return found;
}

function extract(document: Document): { title: string; html: string } | null {
  try {
    // Readability changes the tree, and the body is still needed when it finds no article
    const article = new Readability(document.cloneNode(true) as never, { charThreshold: 200 }).parse();
    return article?.content ? { title: article.title?.replace(/\s+/g, ' ').trim() ?? '', html: article.content } : null;
  } catch {
    return null;
  }
}

function absolute(document: Document, url: string): void {
  const base = URL.parse(document.querySelector('base[href]')?.getAttribute('href') ?? '', url)?.href ?? url;
  for (const [query, name] of [
    ['a[href]', 'href'],
    ['img[src]', 'src'],
  ] as const) {
    for (const element of document.querySelectorAll(query)) {
      const target = URL.parse(element.getAttribute(name) ?? '', base);
      // data: and javascript: addresses are useless to a reader, and a long one would fill the whole page
      if (target && /^(https?|mailto|tel):$/.test(target.protocol)) element.setAttribute(name, target.href);
      else element.removeAttribute(name);
    }
  }
}

const turndown = new TurndownService({
  headingStyle: 'atx',
  codeBlockStyle: 'fenced',
  bulletListMarker: '-',
  hr: '---',
});

function toMarkdown(html: string): string {
  return turndown
    .turndown(html)
    .replace(/(?<![ \t])[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
