import { basename } from 'node:path';

/**
 * Command lines of `agent-browser` as calls of the browser tools. Agents in containers know this program. Theirs is a
 * thin client, so that what they do in a browser is checked like every call.
 */

interface BrowserCall {
  name: 'browser_open' | 'browser_snapshot' | 'browser_action' | 'browser_screenshot';
  args: Record<string, unknown>;
  /** the part of the result that is the answer; all of its text when unset */
  only?: 'title' | 'url';
  /** the name of a file of the container, which goes with the command line; its id becomes the text of the call */
  file?: string;
}

const USAGE = `agent-browser works in the browser of the chat:
  open URL, back, forward, reload, close
  snapshot [-i] [-c] [-d LEVELS] [-s SELECTOR]
  click @e1, fill @e1 TEXT, type @e1 TEXT, select @e1 VALUE, press KEY, scroll down|up
  get text|html|value|count @e1|SELECTOR, get attr @e1|SELECTOR NAME, get title, get url
  screenshot [--full] [FILE], pdf [FILE], upload @e1 FILE
  state save|load|clear NAME
Elements have the numbers of the last snapshot.`;

const PAGE_ACTIONS = new Set(['back', 'forward', 'reload', 'close']);
/** A saved log-in lies with the chat and not in a file, so its name is all there is of a path. */
const STATES: Record<string, string> = { save: 'save_login', load: 'load_login', clear: 'drop_login' };
const WRITES: Record<string, string> = { fill: 'type', type: 'append', select: 'select' };

/** The number of an element; undefined for a selector. */
const refIn = (element = ''): number | undefined => {
  const number = /^(?:@e?|e)(\d{1,7})$/.exec(element)?.[1];
  return number === undefined ? undefined : Number(number);
};

/** A bare host is meant as a page of the web; a bare port of `localhost` as an app. */
const addressOf = (text: string): string =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${/^localhost\b/i.test(text) ? 'http' : 'https'}://${text}`;

/** The call that a command line means; a text says why there is none. */
export function browserCallOf(argv: readonly string[]): BrowserCall | string {
  const [command = '', ...rest] = argv.filter((part) => part !== '--json');
  const [first = '', ...more] = rest;
  if (command === 'open' && rest.length === 1) return { name: 'browser_open', args: { url: addressOf(first) } };
  if (PAGE_ACTIONS.has(command) && rest.length === 0) return action({ action: command });
  if (command === 'snapshot') return snapshotOf(rest);
  if (command === 'click' && rest.length === 1) return onElement({ action: 'click' }, first);
  if (WRITES[command] && more.length > 0) return onElement({ action: WRITES[command], text: more.join(' ') }, first);
  if (command === 'press' && rest.length === 1) return action({ action: 'press', text: first });
  if (command === 'scroll' && /^(?:up|down)$/.test(first))
    return action({ action: `scroll_${first}`, ...(/^\d{1,4}$/.test(more[0] ?? '') && { y: Number(more[0]) }) });
  if (command === 'get') return thingOf(rest);
  if (command === 'screenshot') {
    const whole = rest.some((part) => part === '--full' || part === '-f');
    return { name: 'browser_screenshot', args: { form: whole ? 'page' : 'window' } };
  }
  if (command === 'pdf') return { name: 'browser_screenshot', args: { form: 'pdf' } };
  if (command === 'upload' && more.length === 1) {
    const call = onElement({ action: 'upload' }, first);
    return typeof call === 'string' ? call : { ...call, file: basename(more[0]!) };
  }
  if (command === 'state' && STATES[first] && more.length === 1)
    return action({ action: STATES[first], text: basename(more[0]!) });
  return USAGE;
}

const action = (args: Record<string, unknown>): BrowserCall => ({ name: 'browser_action', args });

function onElement(args: Record<string, unknown>, element: string): BrowserCall | string {
  const ref = refIn(element);
  return ref === undefined
    ? `Name the element by its number in the last snapshot, such as @e1. "${element}" is none.`
    : action({ ...args, ref });
}

function snapshotOf(options: readonly string[]): BrowserCall | string {
  const args: Record<string, unknown> = {};
  for (let at = 0; at < options.length; at += 1) {
    const option = options[at];
    if (option === '-i' || option === '--interactive') args.interactive = true;
    else if (option === '-d' || option === '--depth') args.depth = Number(options[++at]);
    else if (option === '-s' || option === '--selector') args.selector = options[++at] ?? '';
    // a snapshot is always compact, and has the addresses of links
    else if (!/^(?:-c|--compact|-u|--urls)$/.test(option!)) return USAGE;
  }
  return { name: 'browser_snapshot', args };
}

function thingOf([get = '', element, attr]: readonly string[]): BrowserCall | string {
  if (get === 'title' || get === 'url') return { name: 'browser_snapshot', args: {}, only: get };
  if (!/^(?:text|html|value|attr|count)$/.test(get) || element === undefined) return USAGE;
  const ref = refIn(element);
  const of = ref === undefined ? { selector: element } : { ref };
  return { name: 'browser_snapshot', args: { get, ...of, ...(get === 'attr' && { attr: attr ?? '' }) } };
}

const COMMANDS: Record<string, string> = {
  browser_open: 'agent-browser open',
  browser_snapshot: 'agent-browser snapshot',
};

/** A result as this program writes it: elements are named `e12`, and commands by its own names. */
export const asAgentBrowser = (output: string): string =>
  output
    .replace(/(?<=[[ ])ref=(?=\d+[,\]])/g, 'ref=e')
    .replace(/\bbrowser_(?:open|snapshot)\b/g, (name) => COMMANDS[name]!);
