/** Facts about an index before it is read. */
export interface IndexAnswer {
  /** the address that was asked for */
  url: URL;
  accept: string;
  /** the media type of the answer, in lower case, without parameters */
  type: string;
}

/** Where the files that an index names are to be found in the cache. */
export interface Links {
  /** an address that may be relative; null: it stays as it is */
  rewritten(address: string): string | null;
  /** the host name for the origin of an address; null where it can have none */
  host(address: string): string | null;
}

/** A package manager whose registries may keep their files at another host. */
interface Rewriter {
  /** in bytes */
  largest: number;
  concerns(answer: IndexAnswer): boolean;
  /** Returns the text itself where there is nothing to change. A text that is no index stays as it is. */
  rewrite(text: string, links: Links): string;
}

/**
 * The file of a sparse index that says where crates are. The address has markers such as `{crate}`, so it is not read
 * as a URL as a whole.
 */
const cargo: Rewriter = {
  largest: 64 * 1024,
  concerns: ({ url }) => url.pathname.endsWith('/config.json'),
  rewrite(text, links) {
    const config = objectIn(text);
    const found = typeof config?.dl === 'string' ? elsewhere(config.dl, links) : null;
    return found === null ? text : JSON.stringify({ ...config, dl: found });
  },
};

function elsewhere(address: string, links: Links): string | null {
  const [origin] = /^https?:\/\/[^/?#@\s]+(?=[/?#]|$)/i.exec(address) ?? [];
  const host = origin === undefined ? null : links.host(origin);
  return host === null ? null : `http://${host}${address.slice(origin!.length)}`;
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

const JSON_INDEX = 'application/vnd.pypi.simple.v1+json';
const HTML_INDEX = 'application/vnd.pypi.simple.v1+html';

/** A page of a simple index, as JSON (PEP 691) or as HTML (PEP 503). */
const pip: Rewriter = {
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

/**
 * Go and Maven have relative addresses alone. The addresses in a document of npm stay as they are: npm writes them into
 * `package-lock.json`, and takes the files of the default registry from the one that it is told.
 */
const REWRITERS: readonly Rewriter[] = [pip, cargo];

export const rewriterFor = (answer: IndexAnswer): Rewriter | undefined =>
  REWRITERS.find((rewriter) => rewriter.concerns(answer));
