import { z } from 'zod';
import type { BrowserAnswer, BrowserCommand } from '../../adapters/kennel/browser/browsers.ts';
import type { Sent } from '../../domain/consent/taint.ts';
import { inline, visible } from '../../domain/text/foreign-text.ts';
import { untold } from '../declarations.ts';
import { defineTool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { common, inBrowser, isOfApp, noPage, type Opened, subjectOf } from './in-browser.ts';
import { bounded, isEmpty, isErrorPage, pageIn, pageOutcome, READ_PAGE, readPage, targetOf, whyNot } from './page.ts';

/** An address that a browser may be sent to: files and pages of the browser itself are none. */
export const urlArgument = z
  .string()
  .trim()
  .max(4000)
  .refine(isWeb, 'must be a valid http or https URL, without a user name or password')
  .transform((text) => new URL(text).href);

function isWeb(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

export const waitArgument = z.enum(['load', 'domcontentloaded', 'networkidle']).default('load');
type WaitUntil = z.output<typeof waitArgument>;

export const hostIn = ({ url }: { url: string }): string => URL.parse(url)?.host ?? url;
/** Data that leaves the machine with an address: nothing, when it is an app's. */
export const urlsSent = (url: string): Sent => (isOfApp(url) ? {} : { urls: [url] });

const NEW = 'This is a new browser: it has no page, cookie or log-in of an earlier one.';
const SLOW = 'The page was not loaded completely in time. This is what was there.';

/** Opens an address and reads the page; or says why there is nothing to open. */
export async function openPage(
  { site, browsers, owner, onProgress, signal }: Opened,
  context: ToolContext,
  { url, waitUntil }: { url: string; waitUntil: WaitUntil },
): Promise<BrowserAnswer | ToolOutcome> {
  const subject = await subjectOf(context, site, url);
  if ('ok' in subject) return subject;
  const wait: BrowserCommand[] =
    waitUntil === 'networkidle' ? [['wait', '--load', 'networkidle', '--timeout', '8000']] : [];
  const open: BrowserCommand = [
    'open',
    url,
    ...(waitUntil === 'domcontentloaded' ? ['--wait-until', 'domcontentloaded'] : []),
  ];
  return await browsers.run(owner, [open, ...wait, ...READ_PAGE], { opens: subject, bail: false, onProgress, signal });
}

/** The outcome of an opening. */
export function openedOutcome(url: string, answer: BrowserAnswer | ToolOutcome): ToolOutcome {
  if ('ok' in answer) return answer;
  const page = pageIn(answer);
  const failed = answer.answers.find(({ success }) => !success);
  const late = failed !== undefined && /tim(ed|e) ?-?out/i.test(failed.error ?? '');
  const asked = targetOf(new URL(url));
  const refused = answer.refused.find(({ host, port }) => host === asked.host && port === asked.port);
  if (page && !isErrorPage(page) && !isEmpty(page) && (!failed || late))
    return pageOutcome(page, answer, [...(late ? [SLOW] : []), ...(answer.fresh ? [NEW] : [])]);
  if (refused) return { ok: false, output: refused.words, metadata: { url } };
  return {
    ok: false,
    output: `${hostIn({ url })} could not be opened: ${reasonOf(failed?.error ?? '')}`,
    metadata: { url },
  };
}

/** Behind a proxy, Chromium has one error for a name that does not exist and for a server that does not answer. */
function reasonOf(error: string): string {
  if (/ERR_TUNNEL_CONNECTION_FAILED|ERR_PROXY|ERR_EMPTY_RESPONSE/.test(error))
    return 'its name does not exist, or no server answers there.';
  if (/ERR_CERT|ERR_SSL/.test(error)) return `its certificate is not valid (${/ERR_[A-Z_]+/.exec(error)?.[0]}).`;
  if (/ERR_BLOCKED_BY_ADMINISTRATOR/.test(error)) return 'the browser opens only pages of the web.';
  return inline(error) || 'the page has no content.';
}

export const browserOpen = defineTool({
  ...common,
  name: 'browser_open',
  family: 'browser',
  reads: ['page'],
  readFrom: hostIn,
  sends: ['fetch'],
  sent: ({ url }) => urlsSent(url),
  description:
    'Open a public page, or http://localhost:PORT of an app that app_run keeps, where JavaScript, clicks or a form are needed. Returns the elements with numbers, as [ref=12].',
  schema: z.strictObject({ url: urlArgument, waitUntil: waitArgument }),
  danger: 'MODERATE',
  effect: 'idempotent',
  asks: (args, at, say) => say('ask.open', { host: hostIn(args), at }),
  // no path or query: they may carry tokens
  summarise: (args) => URL.parse(args.url)?.hostname ?? 'page',
  run: ({ url, waitUntil }, context) =>
    inBrowser(context, async (opened) => openedOutcome(url, await openPage(opened, context, { url, waitUntil }))),
});

/** An option of the program is no selector. */
const selector = z.string().trim().min(1).max(255).regex(/^[^-]/, 'must be a CSS selector').optional();

const snapshotArguments = z
  .strictObject({
    interactive: z.boolean().optional().meta(untold('Only what can be clicked or typed into')),
    depth: z.int().min(1).max(100).optional().meta(untold('Levels of the tree')),
    selector: selector.describe('CSS'),
    get: z.enum(['text', 'html', 'value', 'attr', 'count']).optional(),
    ref: z.int().min(1).max(1_000_000).optional(),
    attr: z
      .string()
      .regex(/^[A-Za-z_:][\w:.-]{0,99}$/)
      .optional(),
  })
  .refine(({ get, attr }) => get !== 'attr' || attr !== undefined, 'attr needs the name of an attribute');
type SnapshotArguments = z.output<typeof snapshotArguments>;

/** One thing of the page, where the arguments name one: of the whole page when no element is named. */
function oneThing({ get, ref, selector: part, attr }: SnapshotArguments): { what: string; command: string[] } | null {
  const what = get ?? (attr !== undefined ? 'attr' : ref !== undefined ? 'text' : null);
  if (what === null) return null;
  const element = ref !== undefined && what !== 'count' ? `@e${ref}` : (part ?? 'body');
  return { what, command: ['get', what, element, ...(what === 'attr' ? [attr!] : [])] };
}

export const browserSnapshot = defineTool({
  ...common,
  name: 'browser_snapshot',
  family: 'browser',
  reads: ['page'],
  readFrom: () => 'in the browser',
  sends: [],
  description: 'Read the page in the browser again, a part of it by selector, or get one thing of ref or selector.',
  schema: snapshotArguments,
  danger: 'SAFE',
  effect: 'idempotent',
  run: (args, context) =>
    inBrowser(context, async ({ browsers, owner, onProgress, signal }) => {
      const { interactive, depth, selector: part, ref } = args;
      const thing = oneThing(args);
      const parts = [
        ...(interactive ? ['--interactive'] : []),
        ...(depth ? ['--depth', String(depth)] : []),
        ...(part ? ['--selector', part] : []),
      ];
      const commands = thing ? [thing.command] : readPage(parts);
      const answer = await browsers.run(owner, commands, { opens: null, bail: false, onProgress, signal });
      return thing
        ? thingOutcome(thing.what, ref, answer)
        : readOutcome(answer, context.config.FETCH_BROWSER_IDLE_MINUTES);
    }),
});

function thingOutcome(what: string, ref: number | undefined, { answers: [said] }: BrowserAnswer): ToolOutcome {
  if (!said?.success) return { ok: false, output: whyNot({ ref }, said?.error ?? '') };
  const { text, html, value, count } = said.result ?? {};
  const found = text ?? html ?? value ?? count ?? null;
  return {
    ok: true,
    output: found === null ? `It has no such ${what}.` : bounded(visible(String(found))) || '(empty)',
    metadata: { get: what },
  };
}

/** The page that is open now. */
export function readOutcome(answer: BrowserAnswer, idleMinutes: number, notes: readonly string[] = []): ToolOutcome {
  const page = pageIn(answer);
  if (!page)
    return {
      ok: false,
      output: `The page could not be read: ${inline(answer.answers.find(({ success }) => !success)?.error ?? 'no answer')}`,
    };
  if (isEmpty(page)) return { ok: false, output: noPage('No page is open in the browser of this chat.', idleMinutes) };
  if (isErrorPage(page))
    return {
      ok: false,
      output: [...answer.refused.map(({ words }) => words), 'The page could not be loaded.'].join(' '),
    };
  return pageOutcome(page, answer, notes);
}
