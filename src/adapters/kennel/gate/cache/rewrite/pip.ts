import type { Links, Rewriter } from './rewriter.ts';

const JSON_INDEX = 'application/vnd.pypi.simple.v1+json';
const HTML_INDEX = 'application/vnd.pypi.simple.v1+html';

/** A page of a simple index, as JSON (PEP 691) or as HTML (PEP 503). */
export const pip: Rewriter = {
  largest: 48 * 1024 * 1024,
  concerns: ({ type, accept }) =>
    type === JSON_INDEX || type === HTML_INDEX || (type === 'text/html' && accept.includes(HTML_INDEX)),
  rewrite: (text, links) => (text.trimStart().startsWith('{') ? json(text, links) : html(text, links)),
};

function json(text: string, links: Links): string {
  let page: { files?: unknown };
  try {
    page = JSON.parse(text) as object;
  } catch {
    return text;
  }
  if (!Array.isArray(page.files)) return text;
  for (const file of page.files as unknown[]) {
    if (typeof file !== 'object' || file === null || !('url' in file) || typeof file.url !== 'string') continue;
    file.url = links.rewritten(file.url) ?? file.url;
  }
  return JSON.stringify(page);
}

/**
 * A parser of HTML builds a tree, which takes a quarter of a minute for a megabyte that is made for that. A tag by
 * itself takes no time.
 */
const TAG = /<(a|base)\s[^<>]{1,4000}>/gi;
const HREF = /(\shref\s*=\s*)("[^"]*"|'[^']*')/i;

function html(text: string, links: Links): string {
  const hasBase = /<base\s[^<>]{1,4000}>/i.test(text);
  return text.replace(TAG, (tag: string, name: string) =>
    tag.replace(HREF, (whole: string, before: string, quoted: string) => {
      const href = quoted.slice(1, -1).replaceAll('&amp;', '&').trim();
      // what is relative follows the base
      const follows = hasBase && name.toLowerCase() === 'a' && !URL.canParse(href);
      const found = follows ? null : links.rewritten(href);
      return found === null ? whole : `${before}"${found.replaceAll('&', '&amp;').replaceAll('"', '%22')}"`;
    }),
  );
}
