import { type KeyPlace, sealerOf, WrongKey } from '../../adapters/encryption.ts';
import { type BrowserCommand, BrowserFailed } from '../../adapters/kennel/browser/browsers.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import {
  type BrowserLogin,
  browserLogins,
  dropBrowserLogin,
  saveBrowserLogin,
} from '../../store/kennel/browser-logins.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';
import { isOfApp, type Opened, THE_WEB } from './in-browser.ts';

/**
 * Log-ins of a chat's browser under a name, for a later browser of the same chat. They are encrypted with the key of
 * the home, and bound to their chat. No model and no container of an agent sees them.
 */

export const LOGIN_ACTIONS = ['save_login', 'load_login', 'drop_login'] as const;
type LoginAction = (typeof LOGIN_ACTIONS)[number];
export const isLogin = (action: string): action is LoginAction => (LOGIN_ACTIONS as readonly string[]).includes(action);

export const LOGIN_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,59}$/u;

/** Cookies and storage of some sites may be large. */
const LONGEST_STATE = 1024 * 1024;
const HOSTS_SHOWN = 5;
const STATE = '/tmp/login.json';

/** What agent-browser writes of a browser. */
interface State {
  cookies: Array<{ domain?: string }>;
  origins: Array<{ origin?: string }>;
}

const hostsOf = ({ cookies, origins }: State): string[] => [
  ...new Set([
    ...cookies.map(({ domain = '' }) => domain.replace(/^\./, '')),
    ...origins.map(({ origin = '' }) => URL.parse(origin)?.hostname ?? ''),
  ]),
];

/** The apps of a project have browsers of their own, so nothing of theirs is taken along. */
const ofTheWeb = ({ cookies = [], origins = [] }: Partial<State>): State => ({
  cookies: cookies.filter(({ domain = '' }) => {
    const url = `http://${domain.replace(/^\./, '')}`;
    return URL.canParse(url) && !isOfApp(url);
  }),
  origins: origins.filter(({ origin = '' }) => URL.canParse(origin) && !isOfApp(origin)),
});

const placeOf = (chatId: string, name: string): string => `browser/${chatId}/${name}`;
export const shownHosts = (hosts: readonly string[]): string =>
  [
    ...hosts.slice(0, HOSTS_SHOWN).map((host) => inline(host, 80)),
    ...(hosts.length > HOSTS_SHOWN ? [`${hosts.length - HOSTS_SHOWN} more`] : []),
  ].join(', ');

export async function onLogin(
  opened: Opened,
  context: ToolContext,
  { action, name }: { action: LoginAction; name: string },
): Promise<ToolOutcome> {
  const outcome = await ACTIONS[action](opened, context, name);
  return { ...outcome, metadata: { action, ...outcome.metadata } };
}

type OnLogin = (opened: Opened, context: ToolContext, name: string) => Promise<ToolOutcome>;

const no = (output: string): ToolOutcome => ({ ok: false, output });

const save: OnLogin = async ({ browsers, owner, onProgress, signal }, { db, chatId, config }, name) => {
  const state = ofTheWeb(JSON.parse((await browsers.loginState(owner, { onProgress, signal })).toString()));
  const hosts = hostsOf(state);
  const text = JSON.stringify(state);
  if (hosts.length === 0) return no('There is no log-in to save: no site has stored anything in this browser.');
  if (text.length > LONGEST_STATE) return no('That is too much to save: the sites have stored more than 1 MB.');
  const sealed = sealerOf(config).seal(placeOf(chatId, name), text);
  if (!(await saveBrowserLogin(db, { chat_id: chatId, name, hosts, sealed })))
    return no('This chat has 20 saved log-ins, which is the most. Drop one first.');
  return {
    ok: true,
    output: `Saved as ${name}, for ${shownHosts(hosts)}. Only this chat can load it.`,
    metadata: { hosts },
  };
};

const load: OnLogin = async ({ browsers, owner, onProgress, signal }, { db, chatId, config }, name) => {
  const row = await loginNamed({ db, chatId }, name);
  if ('ok' in row) return row;
  const data = Buffer.from(openedState(config, row));
  const commands: BrowserCommand[] = [['state', 'load', STATE]];
  const files = [{ path: STATE, data }];
  const { answers } = await browsers.run(owner, commands, { opens: THE_WEB, bail: true, files, onProgress, signal });
  if (!answers[0]?.success)
    return no(`It was not loaded: ${inline(answers[0]?.error ?? '') || 'no reason was given.'}`);
  const { hosts } = row;
  return {
    ok: true,
    output: `The log-in ${name} is loaded, for ${shownHosts(hosts)}. Open the page again.`,
    metadata: { hosts },
  };
};

const drop: OnLogin = async (_, { db, chatId }, name) => {
  const row = await loginNamed({ db, chatId }, name);
  if ('ok' in row) return row;
  await dropBrowserLogin(db, chatId, name);
  return { ok: true, output: `The log-in ${name} is deleted. The browser that is open now still has it.` };
};

const ACTIONS: Record<LoginAction, OnLogin> = { save_login: save, load_login: load, drop_login: drop };

/** The log-in of this name in this chat, or which ones there are. */
export async function loginNamed(
  { db, chatId }: Pick<ToolContext, 'db' | 'chatId'>,
  name: string,
): Promise<BrowserLogin | ToolOutcome> {
  const rows = await browserLogins(db, chatId);
  const names = rows.map((row) => row.name).join(', ');
  return (
    rows.find((row) => row.name === name) ??
    no(`This chat has no saved log-in ${name}. ${names ? `It has: ${names}.` : 'It has none yet.'}`)
  );
}

function openedState(config: KeyPlace, { chat_id, name, sealed }: BrowserLogin): string {
  try {
    return sealerOf(config).open(placeOf(chat_id, name), sealed);
  } catch (error) {
    throw error instanceof WrongKey
      ? new BrowserFailed(`The log-in ${name} cannot be read with the key of this computer. Log in and save it again.`)
      : error;
  }
}
