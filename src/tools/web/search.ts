import { z } from 'zod';
import { SEARCH_TIMEOUT_MS, SearchError, searchWeb } from '../../adapters/web/searxng.ts';
import type { Config } from '../../config.ts';
import { membersOf } from '../../domain/setting-lists.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { defineTool } from '../tool.ts';

const MAX_COUNT = 20;
const LONGEST_SNIPPET = 500;

const NOT_SET_UP = [
  'Searching the web is not set up: FETCH_SEARXNG_URL is unset.',
  'The way out: run a SearXNG (https://docs.searxng.org) that has "json" among "search: formats:" in its settings.yml, set FETCH_SEARXNG_URL to its address (for example http://127.0.0.1:8888).',
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
  asks: () => 'Search the web for this?',
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
