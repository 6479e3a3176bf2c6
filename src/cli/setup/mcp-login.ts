import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { beginLogin, listenOnLoopback, OtherLogin } from '../../adapters/mcp/oauth/login.ts';
import type { StoredLogin } from '../../adapters/mcp/oauth/stored-login.ts';
import type { Config } from '../../config.ts';
import type { ConfiguredServer } from '../../domain/extensions/mcp-config.ts';
import { MINUTE } from '../../domain/time.ts';
import { openBrowser } from './browser.ts';

/** A person logs in with a browser, on this machine or on another one. */

const WAIT_MINUTES = 15;

interface LoginTerms {
  config: Config;
  say: (text: string) => void;
  /** open one here, if there is one */
  browser: boolean;
  scope?: string | undefined;
}

/** Returns when the browser has come back, or the person has pasted where it went. @throws McpError */
export async function askForLogin(
  configured: ConfiguredServer,
  { config, say, browser, scope }: LoginTerms,
): Promise<StoredLogin> {
  const done = Promise.withResolvers<StoredLogin>();
  let begun: Awaited<ReturnType<typeof beginLogin>> | undefined;
  const take = async (answer: URLSearchParams): Promise<{ ok: boolean; text: string }> => {
    try {
      if (!begun) throw new OtherLogin('The login has not begun.');
      done.resolve(await begun.finish(answer));
      return { ok: true, text: 'The login is done. You can close this page.' };
    } catch (error) {
      // anybody can send such an answer, so it must not end the login
      if (error instanceof OtherLogin) return { ok: false, text: error.message };
      done.reject(error);
      return { ok: false, text: 'The login did not work. The terminal says why.' };
    }
  };
  const { reach } = configured.server;
  const loopback = await listenOnLoopback((reach.over === 'http' && reach.oauth?.redirectPort) || 0, take);
  const over = new AbortController();
  try {
    begun = await beginLogin(configured, { redirect: loopback.redirect, scope, config });
    say(`Open this address in a browser, and log in to ${new URL(begun.issuer).host}:\n\n${begun.address}\n`);
    say(
      'If the browser is on another machine, its last page cannot be shown. Copy the address of that page, and paste it here.',
    );
    if (browser) openBrowser(begun.address);
    readPasted(take, say, over.signal);
    return await Promise.race([done.promise, tooLate(over.signal)]);
  } finally {
    over.abort();
    loopback.close();
  }
}

async function tooLate(signal: AbortSignal): Promise<never> {
  await pause(WAIT_MINUTES * MINUTE, undefined, { signal }).catch(() => {});
  throw new Error(`Nobody has logged in for ${WAIT_MINUTES} minutes. Nothing was changed.`);
}

function readPasted(
  take: (answer: URLSearchParams) => Promise<{ ok: boolean; text: string }>,
  say: (text: string) => void,
  over: AbortSignal,
): void {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    if (line.trim() === '') return;
    const answer = URL.parse(line.trim())?.searchParams;
    if (!answer?.has('state'))
      return say(
        'This is not the address of the last page: that one begins with http://127.0.0.1 and has "state=" in it.',
      );
    void take(answer).then(({ ok, text }) => ok || say(text));
  });
  over.addEventListener('abort', () => {
    lines.close();
    process.stdin.unref?.();
  });
}
