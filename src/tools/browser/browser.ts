import { z } from 'zod';
import type { PictureForm } from '../../adapters/kennel/browser/browsers.ts';
import { pictureFor } from '../../adapters/pictures.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { attachmentId, saveAttachment } from '../../store/chats/messages/attachments.ts';
import { latestThread } from '../../store/chats/threads/threads.ts';
import { defineTool, type Tool, type ToolContext } from '../tool.ts';
import { browserAction } from './action.ts';
import { common, inBrowser, type Opened } from './in-browser.ts';
import {
  browserOpen,
  browserSnapshot,
  hostIn,
  openedOutcome,
  openPage,
  urlArgument,
  urlsSent,
  waitArgument,
} from './open.ts';
import { pageIn } from './page.ts';

/** A picture of the page, stored as an attachment of the chat. */

interface Screenshot {
  id: string;
  bytes: number;
  /** `1280 × 720`, or the kind of file */
  size: string;
}

/** A second attempt of one call stores nothing new. */
async function takeScreenshot(
  { browsers, owner, onProgress, signal }: Opened,
  { db, callId, chatId, threadId, unattended }: ToolContext,
  form: PictureForm = 'window',
): Promise<Screenshot> {
  const data = await browsers.picture(owner, { form, onProgress, signal });
  const id = attachmentId(callId, 'screenshot');
  const thread = unattended ? ((await latestThread(db, chatId))?.id ?? threadId) : threadId;
  const isPdf = form === 'pdf';
  await saveAttachment(db, {
    id,
    threadId: thread,
    kind: isPdf ? 'document' : 'image',
    mime: isPdf ? PDF : PNG,
    name: isPdf ? 'page.pdf' : 'screenshot.png',
    data,
    preview: isPdf ? null : await pictureFor(data),
    text: null,
  });
  return { id, bytes: data.length, ...(isPdf ? { size: 'PDF' } : sizeOf(data)) };
}

const PNG = 'image/png';
const PDF = 'application/pdf';

/** The header of a PNG file has the size at fixed places. */
function sizeOf(png: Buffer): { size: string; width: number; height: number } {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  return { size: `${width} × ${height}`, width, height };
}

const howToSend = (id: string): string =>
  `Write ![what it shows](attachment:${id}) in the answer to send it to the person.`;

const browserScreenshot = defineTool({
  ...common,
  name: 'browser_screenshot',
  family: 'browser',
  reads: ['page'],
  readFrom: () => 'in the browser',
  sends: [],
  description: 'Take a picture of the page in the browser, for the person and for you.',
  schema: z.strictObject({ form: z.enum(['window', 'page', 'pdf']).default('window') }),
  danger: 'SAFE',
  effect: 'idempotent',
  run: ({ form }, context) =>
    inBrowser(context, async (opened) => {
      const { id, size, ...picture } = await takeScreenshot(opened, context, form);
      return {
        ok: true,
        output: `A picture of the page (${size}) is stored as ${id}. ${howToSend(id)} What is on the page says browser_snapshot.`,
        metadata: { attachment: id, mime: form === 'pdf' ? PDF : PNG, ...picture },
      };
    }),
});

/** The same check every time: an address, and texts that must be on the page. Made for the steps of workflows. */

const MOST_TEXTS = 30;

const browserTest = defineTool({
  ...common,
  name: 'browser_test',
  family: 'browser',
  reads: ['page'],
  readFrom: hostIn,
  sends: ['fetch'],
  sent: ({ url }) => urlsSent(url),
  description: 'Open a page in the browser and look for texts in it, in any case of letters. For steps of workflows.',
  schema: z.strictObject({
    url: urlArgument,
    waitUntil: waitArgument,
    mustInclude: z.array(z.string().trim().min(1).max(500)).max(MOST_TEXTS).default([]),
    screenshot: z.boolean().default(false),
  }),
  danger: 'MODERATE',
  effect: 'idempotent',
  asks: (args, at, say) => say('ask.check', { host: hostIn(args), at }),
  summarise: (args) => URL.parse(args.url)?.hostname ?? 'page',
  run: ({ url, waitUntil, mustInclude, screenshot }, context) =>
    inBrowser(context, async (opened) => {
      const answer = await openPage(opened, context, { url, waitUntil });
      const outcome = openedOutcome(url, answer);
      const page = 'ok' in answer ? null : pageIn(answer);
      const passed = (text: string): boolean =>
        outcome.ok && page !== null && `${page.title}\n${page.tree}`.toLowerCase().includes(text.toLowerCase());
      const steps = [
        { step: `open ${inline(url, 200)}`, passed: outcome.ok },
        ...mustInclude.map((text) => ({ step: `the page includes "${inline(text, 100)}"`, passed: passed(text) })),
      ];
      const picture = screenshot && outcome.ok ? await takeScreenshot(opened, context) : null;
      const failed = steps.filter((each) => !each.passed);
      const lines = [
        failed.length === 0
          ? `PASS: all ${steps.length} checks of ${hostIn({ url })}`
          : `FAIL: ${failed.length} of ${steps.length} checks of ${hostIn({ url })}`,
        ...steps.map((each, at) => `${at + 1}. ${each.passed ? 'PASS' : 'FAIL'} ${each.step}`),
        ...(outcome.ok ? [] : [outcome.output]),
        ...(picture ? [`A picture is stored as ${picture.id}. ${howToSend(picture.id)}`] : []),
      ];
      return {
        ok: failed.length === 0,
        output: lines.join('\n'),
        metadata: {
          url: page?.url ?? url,
          steps,
          failed: failed.map(({ step }) => step),
          ...(picture && { attachment: picture.id, mime: 'image/png' }),
        },
      };
    }),
});

export const browserTools: Tool[] = [browserOpen, browserSnapshot, browserAction, browserScreenshot, browserTest];
