import { z } from 'zod';
import type { BrowserCommand } from '../../adapters/kennel/browser/browsers.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { defineTool, type ToolContext } from '../tool.ts';
import { common, inBrowser } from './in-browser.ts';
import { readOutcome } from './open.ts';
import { pageIn, READ_PAGE, whyNot } from './page.ts';

/** Doing something on the page that is open. */

const SCROLL_PIXELS = '600';
const LONGEST_TEXT = 2000;
const MAX_REF = 1_000_000;
const MAX_COORDINATE = 10_000;
/** `Enter`, `Control+a`, `x`; an option of the program is no key */
const KEY = /^(?!-.)\S{1,40}$/;

const coordinate = z.int().min(0).max(MAX_COORDINATE).optional();

const actionArguments = z
  .strictObject({
    action: z.enum([
      'click',
      'type',
      'append',
      'press',
      'select',
      'scroll_down',
      'scroll_up',
      'back',
      'forward',
      'reload',
      'close',
    ]),
    ref: z.int().min(1).max(MAX_REF).optional().describe('Number of the element'),
    text: z.string().max(LONGEST_TEXT).optional(),
    x: coordinate,
    y: coordinate,
  })
  .superRefine(({ action, ref, text, x, y }, issue) => {
    const wrong = (message: string) => issue.addIssue({ code: 'custom', message });
    if (action === 'click' && ref === undefined && (x === undefined || y === undefined))
      wrong('click needs ref, or x and y');
    const writes = action === 'type' || action === 'append' || action === 'select';
    if (writes && ref === undefined) wrong(`${action} needs ref`);
    if (writes && !text?.trim()) wrong(`${action} needs text`);
    if (action === 'press' && !KEY.test(text ?? '')) wrong('press needs a key as text, such as Enter');
    if (text?.includes('\0')) wrong('text must not contain null characters');
  });
type Action = z.output<typeof actionArguments>;

function commandsOf({ action, ref, text = '', x, y }: Action): BrowserCommand[] {
  switch (action) {
    case 'click':
      if (ref !== undefined) return [['click', `@e${ref}`]];
      return [
        ['mouse', 'move', String(x), String(y)],
        ['mouse', 'down'],
        ['mouse', 'up'],
      ];
    case 'type':
      return [['fill', `@e${ref}`, text]];
    case 'append':
      // a field that gets the focus has its caret at the beginning
      return [
        ['focus', `@e${ref}`],
        ['press', 'Control+End'],
        ['type', `@e${ref}`, text],
      ];
    case 'select':
      return [['select', `@e${ref}`, text]];
    case 'press':
      return [['press', text]];
    case 'scroll_down':
    case 'scroll_up':
      return [['scroll', action === 'scroll_down' ? 'down' : 'up', SCROLL_PIXELS]];
    default:
      return [[action]];
  }
}

const moves = (action: Action['action']): boolean => ['scroll_down', 'scroll_up', 'close'].includes(action);
/** What may begin a navigation. */
const leads = (action: Action['action']): boolean => !moves(action) && action !== 'type' && action !== 'append';
/**
 * What a click begins, such as a navigation, has time to end. The old page is still loaded just after a click, so a
 * wait for that alone ends too early.
 */
const SETTLE: BrowserCommand[] = [
  ['wait', '--load', 'networkidle', '--timeout', '4000'],
  ['wait', '--load', 'load', '--timeout', '5000'],
];

export const browserAction = defineTool({
  ...common,
  name: 'browser_action',
  family: 'browser',
  reads: ['page'],
  readFrom: () => 'in the browser',
  sends: ['browse'],
  // the page learns what is typed and clicked; it wrote the elements itself, so nothing but a person can say what they
  // mean
  sent: ({ action }) => (moves(action) ? {} : null),
  description:
    'Act on the page in the browser, by the numbers of the last snapshot; type replaces the text of a field, append adds to it. Returns the page afterwards.',
  schema: actionArguments,
  danger: 'MODERATE',
  // a click may buy something
  effect: 'once',
  asks: ({ action }, at, say) => say(`ask.${action}`, { at }),
  preview: (args, context) => previewOf(args, context),
  summarise: ({ action }) => action,
  run: (args, context) =>
    inBrowser(context, async ({ browsers, owner, onProgress, signal }) => {
      const doing = commandsOf(args);
      const reading = args.action === 'close' ? [] : [...(leads(args.action) ? SETTLE : []), ...READ_PAGE];
      const { answers, ...rest } = await browsers.run(owner, [...doing, ...reading], {
        opens: null,
        bail: false,
        onProgress,
        signal,
      });
      const failed = answers.slice(0, doing.length).find(({ success }) => !success);
      if (failed) return { ok: false, output: whyNot(args, failed.error ?? ''), metadata: { action: args.action } };
      if (args.action === 'close')
        return { ok: true, output: 'The page is closed.', metadata: { action: args.action } };
      const outcome = readOutcome({ answers, ...rest }, context.config.FETCH_BROWSER_IDLE_MINUTES);
      return { ...outcome, metadata: { action: args.action, ...outcome.metadata } };
    }),
});

const WORDS: Record<Action['action'], string> = {
  click: 'Click',
  type: 'Type',
  append: 'Type',
  press: 'Press',
  select: 'Choose',
  scroll_down: 'Scroll down',
  scroll_up: 'Scroll up',
  back: 'Go back',
  forward: 'Go forward',
  reload: 'Load again',
  close: 'Close',
};

/** The subject of the approval: the element in the words of the page, and all of the text. */
async function previewOf(args: Action, context: ToolContext): Promise<string | null> {
  let shown: string | null = null;
  await inBrowser(context, async ({ browsers, owner, onProgress, signal }) => {
    const answer = await browsers.run(owner, READ_PAGE, { opens: null, bail: false, onProgress, signal });
    const page = pageIn(answer);
    const line = page?.tree.split('\n').find((each) => numberOf(each) === args.ref);
    const element =
      args.ref === undefined
        ? args.x === undefined
          ? null
          : `at ${args.x}, ${args.y}`
        : (line?.trim() ?? `element ${args.ref}, which is not there now`);
    const lines = [
      [WORDS[args.action], element && inline(element)].filter(Boolean).join(': '),
      ...(args.text === undefined ? [] : [`Text: ${args.text}`]),
      `Page: ${inline(page?.url ?? 'none')}`,
    ];
    shown = lines.join('\n');
    return { ok: true, output: '' };
  });
  return shown;
}

/** The number of the element in a line of the page. */
const numberOf = (line: string): number => Number.parseInt(line.slice(line.lastIndexOf('ref=') + 4), 10);
