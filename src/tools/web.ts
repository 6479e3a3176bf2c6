import { z } from 'zod';
import { convertPage } from '../adapters/web/convert-page.ts';
import { FETCH_TIMEOUT_MS, FetchError, fetchPage } from '../adapters/web/fetch-page.ts';
import { SelectorError } from '../adapters/web/readable-page.ts';
import { SEARCH_TIMEOUT_MS, SearchError, searchWeb } from '../adapters/web/searxng.ts';
import type { Config } from '../config.ts';
import { membersOf } from '../domain/settings/shapes.ts';
import { inline } from '../domain/text/foreign-text.ts';
import { prefix } from '../domain/text/storable.ts';
import { defineTool } from './tool.ts';

const MAX_COUNT = 20;
const LONGEST_SNIPPET = 500;

const NOT_SET_UP = [
  'Searching the web is not set up.',
  'The way out: run a SearXNG (https://docs.searxng.org) that has "json" among "search: formats:" in its settings.yml, and put its address (for example http://127.0.0.1:8888) in on the owner\'s page, under Settings.',
  'Until then web_fetch can read a page whose address is known.',
].join('\n');

export const webSearch = defineTool({
  name: 'web_search',
  family: 'core',
  reads: ['search'],
  readFrom: ({ query }) => query,
  sends: ['search'],
  sent: ({ query }) => ({ texts: [query] }),
  description: 'Search the web. Read a result with web_fetch.',
  schema: z.strictObject({
    query: z.string().trim().min(1).max(400),
    count: z.number().int().min(1).max(MAX_COUNT).default(5),
    category: z.enum(['general', 'images', 'news', 'science', 'it']).default('general'),
  }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  timeoutMs: SEARCH_TIMEOUT_MS + 5_000,
  // no words of the query, which may be private
  summarise: ({ category }) => category,
  asks: (_, __, say) => say('ask.search'),
  run: async ({ query, count, category }, { signal, config }) => {
    const instance = instanceOf(config);
    if (!instance) return { ok: false, output: NOT_SET_UP };
    try {
      const found = await searchWeb(instance, { query, category, signal });
      const results = found.results.slice(0, count).map(({ title, url, snippet, engine }) => ({
        title: inline(title),
        url,
        snippet: inline(snippet, LONGEST_SNIPPET),
        engine: inline(engine, 50),
      }));
      return { ok: true, output: outputOf(results, found.silent), metadata: { query, count: results.length, results } };
    } catch (error) {
      if (error instanceof SearchError) return { ok: false, output: error.message };
      throw error;
    }
  },
});

/** Where docker-compose.yml runs one, with its profile `full` only. */
const OF_COMPOSE = 'http://searxng:8080';

function instanceOf({
  FETCH_SEARXNG_URL: url,
  FETCH_COMPOSE_PROFILES: profiles,
}: Pick<Config, 'FETCH_SEARXNG_URL' | 'FETCH_COMPOSE_PROFILES'>): string | undefined {
  const left =
    url === OF_COMPOSE &&
    profiles !== undefined &&
    !membersOf(profiles).some((each) => each === 'full' || each === '*');
  return left ? undefined : url;
}

/** The query is not repeated: the model wrote it, and this text counts as written by others. */
function outputOf(
  results: ReadonlyArray<{ title: string; url: string; snippet: string; engine: string }>,
  silent: readonly string[],
): string {
  const missing = silent.length > 0 ? [`These engines did not answer: ${inline(silent.join(', '))}.`] : [];
  if (results.length === 0) return ['Nothing was found. Other or fewer words may find more.', ...missing].join(' ');
  const listed = results.map(({ title, url, snippet, engine }, at) =>
    [
      `${at + 1}. ${title || '(no title)'}${engine && ` (${engine})`}`,
      `   ${url}`,
      ...(snippet ? [`   ${snippet}`] : []),
    ].join('\n'),
  );
  return [...listed, ...(results.length < 3 ? missing : [])].join('\n\n');
}

export const MAX_CONTENT = 50_000;

const isHttp = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

export const webFetch = defineTool({
  name: 'web_fetch',
  family: 'core',
  reads: ['page'],
  readFrom: (args) => URL.parse(args.url)?.host ?? args.url,
  sends: ['fetch'],
  sent: (args) => ({ urls: [args.url] }),
  description:
    'Read a public web page as markdown; JSON and plain text come as they are. Not for addresses in private networks.',
  schema: z.strictObject({
    url: z.string().trim().max(4000).refine(isHttp, 'must be a valid http or https URL'),
    selector: z.string().trim().min(1).max(200).optional().describe('CSS, of the part to read'),
  }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  timeoutMs: FETCH_TIMEOUT_MS + 15_000,
  // only the host: paths and queries may carry tokens, and summaries are not always encrypted
  summarise: (args) => URL.parse(args.url)?.hostname ?? 'page',
  asks: (_, __, say) => say('ask.page'),
  run: async ({ url, selector }, { signal, config }) => {
    try {
      const page = await fetchPage(url, { signal, ...(config.FETCH_ALLOW_PRIVATE_URLS && { allows: () => true }) });
      const html =
        page.type === 'text/html' ||
        page.type === 'application/xhtml+xml' ||
        (page.type === '' && /^\s*</.test(page.text));
      const { title, markdown } = html
        ? await convertPage(page.text, page.url, selector, signal)
        : { title: '', markdown: page.text };
      const content = prefix(markdown, MAX_CONTENT);
      const truncated = page.cut || content.length < markdown.length;
      const metadata = {
        url: page.url,
        title,
        contentType: page.type,
        status: page.status,
        truncated,
        length: content.length,
      };
      const okay = page.status >= 200 && page.status < 300;
      const lines = [
        okay
          ? title
            ? `${title}\n${page.url}`
            : page.url
          : `${page.url} answered ${page.status} ${page.statusText}`.trim(),
        ...(page.unreadable
          ? [
              '[This page stays unreadable in part: its encoding is not one that it declares. Do not guess the lost words.]',
            ]
          : []),
        content || '(no readable text on this page)',
        ...(truncated
          ? [
              `[cut: only the first ${content.length} characters are shown${html ? '; a selector reads another part' : ''}]`,
            ]
          : []),
      ];
      return { ok: okay, output: lines.join('\n\n'), metadata };
    } catch (error) {
      if (error instanceof FetchError || error instanceof SelectorError)
        return { ok: false, output: error.message, metadata: { url } };
      throw error;
    }
  },
});
