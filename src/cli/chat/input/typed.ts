import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Colors } from 'picocolors/types.js';
import { reasonOf } from '../../../client/api-client.ts';
import { ApiError } from '../../../domain/api-error.ts';
import { pastedPath } from '../../../domain/chat/words/bring-in.ts';
import { rememberMessage } from '../screen/history.ts';
import { styleLine } from '../screen/text.ts';
import { type ChatOffer, type ChatOptions, type ChatSession, send } from './session.ts';

/**
 * A message that is a folder, as the words that bring it in: terminals paste the path of a folder that is dragged into
 * them. `open ..` is meant from where the terminal stands, which nobody else knows.
 */
export function asOpened(text: string, isFolder: (path: string) => boolean = exists): string {
  const relative = /^\/?open (\.{1,2}(?:\/.*)?)$/i.exec(text)?.[1];
  const path = relative ? resolve(relative) : pastedPath(text)?.replace(/^~(?=\/)/, homedir());
  return path && isFolder(path) ? `open ${path}` : text;
}

function exists(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** A first Ctrl-C interrupts; a second one within this time leaves. */
const AGAIN_MS = 2_000;

/** What a person types at a terminal: messages, the words for the chat itself, and Ctrl-C. */
export function typed(session: ChatSession, { home, offer: begin }: { home: string; offer: ChatOptions['offer'] }) {
  const { screen, view, signal, leave } = session;
  let queue: Promise<unknown> = Promise.resolve();
  let offer: ChatOffer | undefined;

  const linkWhatsApp = (start: NonNullable<ChatOptions['offer']>): void => {
    if (offer?.pending()) {
      view.note('WhatsApp is being linked already: scan the code above. /skip leaves it.');
      return;
    }
    start(
      (line) => screen.print(line),
      signal,
      () => screen.size,
    )
      .then((begun) => {
        offer = begun;
      })
      .catch((error) => view.problem(reasonOf(error)));
  };

  /** false when the text is a message */
  const isForTheChat = (text: string): boolean => {
    if (text === '/quit' || text === '/exit') leave();
    else if (text === '/skip' && offer?.pending())
      offer.skip().catch((error) => view.problem(`Could not skip it: ${reasonOf(error)}`));
    else if (begin && asksForWhatsApp(text, view.running.isAsked)) linkWhatsApp(begin);
    else return text === '';
    return true;
  };

  const take = (written: string): void => {
    // a path may be the answer to a question
    const text = view.running.isAsked ? written.trim() : asOpened(written.trim());
    rememberMessage(home, text);
    if (isForTheChat(text)) return;
    offer?.hush();
    // what is on the screen now, because sending may have to wait
    const displayed = view.displayed();
    // one at a time, so that messages arrive in order, even if the first must be repeated
    queue = queue.then(() => send(session, text, displayed));
  };
  return { take, interrupt: interruptOrLeave(session) };
}

function interruptOrLeave({ api, threadId, screen, view, signal, leave }: ChatSession): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    const isAgain = now - last < AGAIN_MS;
    last = now;
    if (isAgain) {
      leave();
      return;
    }
    const turnId = [...view.running.turns.keys()].at(-1);
    if (turnId === undefined) {
      screen.clearInput();
      view.note('(Ctrl-C again or /quit leaves)');
      return;
    }
    view.note('interrupting… (Ctrl-C again leaves)');
    api.interrupt(threadId, turnId, signal).catch((error) => {
      // 409: it has ended meanwhile, as wanted
      if (!signal.aborted && !(error instanceof ApiError && error.status === 409))
        view.problem(`Could not interrupt: ${reasonOf(error)}`);
    });
  };
}

/** The first lines of an empty chat. */
export function greeting(
  things: readonly string[],
  { whatsapp, colors }: { whatsapp: boolean; colors: Colors },
): string {
  return [
    'Hello. Write what you need in your own words. Three things to try:',
    ...things.map((thing, index) => `  ${index + 1}. ${thing}`),
    `\`help\` shows them again.${whatsapp ? ' `whatsapp` links your phone.' : ''} Alt+Enter begins a new line, Ctrl-D leaves.`,
  ]
    .map((line) => styleLine(line, false, colors))
    .join('\n');
}

/** A message that asks for WhatsApp. While a question is open, the bare word may be its answer. */
export const asksForWhatsApp = (text: string, asked: boolean): boolean =>
  /^\/(?:whatsapp|pair)$/i.test(text) || (!asked && /^(?:(?:link|connect|pair) )?whatsapp[.!]?$|^pair$/i.test(text));
