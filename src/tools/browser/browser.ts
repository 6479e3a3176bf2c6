import { z } from 'zod';
import { inline } from '../../domain/text/foreign-text.ts';
import { defineTool, type Tool } from '../tool.ts';
import { browserAction } from './action.ts';
import { common, inBrowser } from './in-browser.ts';
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
import { browserScreenshot, howToSend, takeScreenshot } from './screenshot.ts';

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
  description:
    'Check a page in the browser: open it, and look for texts in it, in any case of letters. For steps of workflows.',
  schema: z.strictObject({
    url: urlArgument,
    waitUntil: waitArgument,
    mustInclude: z.array(z.string().trim().min(1).max(500)).max(MOST_TEXTS).default([]),
    screenshot: z.boolean().default(false),
  }),
  danger: 'MODERATE',
  effect: 'idempotent',
  asks: (args, at) => `Check ${hostIn(args)} in the browser${at}?`,
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
        ...(picture ? [`A picture is stored as ${picture.id}. ${howToSend(picture)}`] : []),
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
