import { styleText } from 'node:util';
import { renderUnicodeCompact } from 'uqr';
import type { Config } from '../config.ts';
import type { WhatsAppView } from '../contracts/whatsapp.ts';
import type { ChatOffer } from './chat.ts';
import { follow, type WhatsAppClient, WhatsAppClientError, whatsappClientOf } from './whatsapp-client.ts';

export interface PairOptions {
  phone?: string;
  number?: 'shared' | 'dedicated';
}

/** `fetch pair`: shows the QR or the code, renewed as WhatsApp renews it, until the phone has linked this device. */
export async function run(config: Config, options: PairOptions): Promise<void> {
  const client = await whatsappClientOf(config);
  const before = await client.view();
  if (isLinked(before) && options.number === undefined) return say(linkedText(before));
  const leaving = new AbortController();
  const screen = qrScreen(process.stdout);
  process.once('SIGINT', () => leaving.abort());
  await client.start({ phone: options.phone ?? null, ...(options.number && { number: options.number }) });
  let asked = false;
  for await (const view of follow(client, leaving.signal)) {
    if (isLinked(view) && (options.number === undefined || view.number === options.number)) {
      screen.clear();
      return say(linkedText(view));
    }
    if (view.qr || view.pairingCode) asked = true;
    // an older problem is shown until the gateway has looked; only what follows is about this attempt
    if (view.wanted !== 'on' || (asked && view.needs !== null)) {
      screen.clear();
      throw new WhatsAppClientError(view.lastError ?? 'WhatsApp was not linked.');
    }
    screen.show(shownText(view));
  }
  screen.clear();
  // given up: nothing is kept of an attempt that no phone has accepted
  if (!isLinked(await client.view())) await client.stop();
  say('Not linked. `fetch pair` shows a new code.');
}

/** `fetch unpair`: logs out, which removes this device from the list on the phone. */
export async function unpair(config: Config): Promise<void> {
  const client = await whatsappClientOf(config);
  const before = await client.view();
  if (before.phone === null) return say('WhatsApp is not linked.');
  await client.logout();
  for await (const view of follow(client, AbortSignal.timeout(60_000))) {
    if (view.wanted === 'off' && view.phone === null) return say('WhatsApp is logged out. `fetch pair` links it again.');
  }
  throw new WhatsAppClientError('WhatsApp is still logging out; `fetch doctor` tells how it stands.');
}

/**
 * The pairing beside a chat, for the first start on a terminal: asked for once in the life of an instance, shown until it is linked,
 * skipped or given up, and never in the way of what is typed. `write` prints above the line that is being typed.
 */
export function offerPairing(client: WhatsAppClient, write: (text: string) => void, signal: AbortSignal): ChatOffer {
  let pending = false;
  let hushed = false;
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const run = async (): Promise<void> => {
    const first = await client.view(until);
    if (first.untouched) await client.start();
    else if (first.wanted !== 'on' || first.phone !== null) return;
    pending = true;
    let shown = '';
    for await (const view of follow(client, until)) {
      if (isLinked(view)) return write(linkedText(view));
      if (view.wanted !== 'on')
        return write(`WhatsApp is not linked: ${view.lastError ?? 'it was skipped'} Write on here; \`fetch pair\` in another terminal shows a new code.`);
      if (!view.qr || view.qr === shown || (hushed && shown !== '')) continue;
      write(shown === '' ? `${shownText(view)}\nOr leave it: write /skip, and this is not asked again.` : `${shownText(view)}\n(renewed; /skip leaves it)`);
      shown = view.qr;
    }
  };
  void run()
    // an offer: whatever goes wrong with it, the chat goes on
    .catch(() => {})
    .finally(() => {
      pending = false;
    });
  return {
    pending: () => pending,
    hush() {
      hushed = true;
    },
    async skip() {
      over.abort();
      await client.stop();
      write('WhatsApp is left for now; `fetch pair` links it whenever you like.');
    },
  };
}

const isLinked = (view: WhatsAppView): boolean => view.state === 'authenticated' && view.phone !== null;

function linkedText(view: WhatsAppView): string {
  const use =
    view.number === 'dedicated'
      ? 'Authorised people write to this number, and need no trigger. (It is your own number? fetch pair --number shared)'
      : 'Write to yourself on WhatsApp (the chat "Message yourself"). In other chats it answers you only when a message begins with the trigger. (It has a number of its own? fetch pair --number dedicated)';
  return `WhatsApp is linked: +${view.phone}\n${use}`;
}

function shownText(view: WhatsAppView): string {
  const open = 'On the phone: WhatsApp > Settings (Android: the three dots) > Linked devices > Link a device';
  if (view.pairingCode)
    return `${open} > Link with phone number instead, then enter\n\n    ${styleText('bold', `${view.pairingCode.slice(0, 4)}-${view.pairingCode.slice(4)}`)}\n`;
  if (view.qr) return `${drawn(view.qr)}\n${open}, and scan this.\nWithout a camera: fetch pair --phone +491701234567`;
  return view.lastError ? `Connecting to WhatsApp… (${view.lastError})` : 'Connecting to WhatsApp…';
}

/** A QR of half-high blocks; black and white are said outright, because terminals are light or dark. */
function drawn(text: string): string {
  const lines = renderUnicodeCompact(text, { ecc: 'L', border: 2 }).split('\n');
  const { rows = Number.POSITIVE_INFINITY, columns = Number.POSITIVE_INFINITY } = process.stdout;
  const hint =
    rows < lines.length + 4 || columns < lines[0]!.length
      ? `\n(Make this window at least ${lines[0]!.length} wide and ${lines.length + 4} high to see all of it.)`
      : '';
  return lines.map((line) => styleText(['whiteBright', 'bgBlack'], line)).join('\n') + hint;
}

/** Shows one text in place of the last, where the output is a terminal; elsewhere one after the other. */
function qrScreen(output: NodeJS.WriteStream): { show(text: string): void; clear(): void } {
  let last = '';
  const clear = (): void => {
    if (output.isTTY && last) output.write(`\x1b[${last.split('\n').length}A\x1b[J`);
    last = '';
  };
  return {
    clear,
    show(text) {
      if (text === last) return;
      clear();
      output.write(`${text}\n`);
      last = text;
    },
  };
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
