import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import type { BrowserCommand } from '../../adapters/kennel/browser/browsers.ts';
import { visibleLine } from '../../domain/text/evidence.ts';
import { inline, visible } from '../../domain/text/foreign-text.ts';
import { cut } from '../../domain/text/storable.ts';
import { attachmentOfChat, bytesOfAttachment } from '../../store/chats/messages/attachments.ts';
import { defineTool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { common, inBrowser } from './in-browser.ts';
import { isLogin, LOGIN_ACTIONS, LOGIN_NAME, loginNamed, onLogin, shownHosts } from './logins.ts';
import { readOutcome } from './open.ts';
import { pageIn, READ_PAGE, whyNot } from './page.ts';

/** Doing something on the page that is open. */

const SCROLL_PIXELS = '600';
const LONGEST_TEXT = 2000;
const MAX_REF = 1_000_000;
export const MOST_UPLOAD = 8 * 1024 * 1024;
const SHOWN_OF_FILE = 1_000;
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
      'upload',
      ...LOGIN_ACTIONS,
    ]),
    ref: z.int().min(1).max(MAX_REF).optional().describe('Number of the element'),
    text: z.string().max(LONGEST_TEXT).optional().describe('Of upload, the id of an attachment; of a log-in, its name'),
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
    if (action === 'upload' && ref === undefined) wrong('upload needs ref');
    if (action === 'upload' && !/^att_\w{1,60}$/.test(text ?? ''))
      wrong('upload needs the id of an attachment as text');
    if (isLogin(action) && !LOGIN_NAME.test(text ?? '')) wrong(`${action} needs a short name as text`);
    if (text?.includes('\0')) wrong('text must not contain null characters');
  });
type Action = z.output<typeof actionArguments>;

function commandsOf({ action, ref, text = '', x, y }: Action, file?: UploadedFile): BrowserCommand[] {
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
    case 'upload':
      return [['upload', `@e${ref}`, file!.path]];
    case 'scroll_down':
    case 'scroll_up':
      return [['scroll', action === 'scroll_down' ? 'down' : 'up', String(y ?? SCROLL_PIXELS)]];
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
  sendsAlso: ({ action }) => (action === 'drop_login' ? ['delete'] : []),
  // a file leaves only after a person has seen which one
  asksAlways: ({ action }) => action === 'upload',
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
    inBrowser(context, async (opened) => {
      const { action, text = '' } = args;
      if (isLogin(action)) return await onLogin(opened, context, { action, name: text });
      const file = action === 'upload' ? await uploaded(context, text) : undefined;
      if (file && 'ok' in file) return file;
      const { browsers, owner, onProgress, signal } = opened;
      const doing = commandsOf(args, file);
      const reading = args.action === 'close' ? [] : [...(leads(args.action) ? SETTLE : []), ...READ_PAGE];
      const { answers, ...rest } = await browsers.run(owner, [...doing, ...reading], {
        opens: null,
        bail: false,
        ...(file && { files: [file] }),
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
  upload: 'Upload to',
  save_login: 'Save the log-in',
  load_login: 'Load the log-in',
  drop_login: 'Delete the log-in',
};

/** The subject of the approval: the element in the words of the page, and all of the text. */
async function previewOf(args: Action, context: ToolContext): Promise<string | null> {
  const { action, text = '' } = args;
  if (action === 'load_login' || action === 'drop_login') {
    const login = await loginNamed(context, text);
    return 'ok' in login ? login.output : `${WORDS[action]}: ${text}\nIt is for: ${shownHosts(login.hosts)}`;
  }
  const file = action === 'upload' ? await uploaded(context, text) : null;
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
      ...(args.text === undefined || file ? [] : [`${isLogin(action) ? 'Name' : 'Text'}: ${args.text}`]),
      ...(file ? ['ok' in file ? file.output : shownFile(file)] : []),
      `Page: ${inline(page?.url ?? 'none')}`,
    ];
    shown = lines.join('\n');
    return { ok: true, output: '' };
  });
  return shown;
}

interface UploadedFile {
  /** in the container of the browser */
  path: string;
  name: string;
  data: Buffer;
}

/** A page may look at the name of a file, and a longer one would not fit into the folder. */
const nameOf = (name: string): string =>
  visibleLine(name)
    .replace(/[/\\]/g, '_')
    .replace(/^[.-]+/, '')
    .slice(-100) || 'file';

async function uploaded({ db, chatId }: ToolContext, id: string): Promise<UploadedFile | ToolOutcome> {
  const found = await attachmentOfChat(db, chatId, id);
  const bytes = found && (await bytesOfAttachment(db, found.thread_id, id));
  if (!bytes) return { ok: false, output: `There is no attachment ${id} in this chat.` };
  if (bytes.data.length > MOST_UPLOAD) return { ok: false, output: 'The file is larger than 8 MB.' };
  const name = nameOf(found.name ?? id);
  return { path: `/tmp/files/${name}`, name, data: bytes.data };
}

/** The name and the size of a file; of a text also how it begins. */
function shownFile({ name, data }: UploadedFile): string {
  const head = `File: ${name} (${data.length.toLocaleString('en')} bytes)`;
  const text = isUtf8(data) && !data.includes(0) ? cut(visible(data.toString()), SHOWN_OF_FILE) : '';
  return text ? `${head}\n${text}` : head;
}

/** The number of the element in a line of the page. */
const numberOf = (line: string): number => Number.parseInt(line.slice(line.lastIndexOf('ref=') + 4), 10);
