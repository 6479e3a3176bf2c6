import { z } from 'zod';
import { convertPage } from '../../adapters/web/convert-page.ts';
import { FETCH_TIMEOUT_MS, FetchError, fetchPage } from '../../adapters/web/fetch-page.ts';
import { SelectorError } from '../../adapters/web/readable-page.ts';
import { prefix } from '../../domain/text/storable.ts';
import { defineTool } from '../tool.ts';

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
  asks: () => 'Read this page?',
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
