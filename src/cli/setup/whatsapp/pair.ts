import { styleText } from 'node:util';
import { validatePhoneNumberLength } from 'libphonenumber-js/min';
import { encode, renderUnicodeCompact } from 'uqr';
import type { Config } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import type { WhatsAppView } from '../../../contracts/whatsapp.ts';
import { phoneOf } from '../../../domain/whatsapp/identity.ts';
import type { ChatOffer } from '../../chat/input/session.ts';
import { widthOf, wrap } from '../../chat/screen/layout.ts';
import { follow, type WhatsAppClient, whatsappClientOf } from './whatsapp-client.ts';

export interface PairOptions {
  phone?: string;
  number?: 'shared' | 'dedicated';
}

/** `fetch pair`: shows the QR or code, and its renewals, until the phone has linked this device. */
export async function run(config: Config, options: PairOptions): Promise<void> {
  const phone = options.phone === undefined ? null : phoneToPair(options.phone);
  const client = await whatsappClientOf(config);
  const before = await client.view();
  if (isLinked(before) && options.number === undefined) return say(linkedText(before));
  const leaving = new AbortController();
  const screen = qrScreen(process.stdout);
  process.once('SIGINT', () => leaving.abort());
  await client.start({ phone, ...(options.number && { number: options.number }) });
  for await (const view of follow(client, leaving.signal)) {
    if (isLinked(view) && (options.number === undefined || view.number === options.number)) {
      screen.clear();
      return say(linkedText(view));
    }
    // the request has cleared earlier needs, so what is needed now is about this attempt
    if (view.wanted !== 'on' || view.needs !== null) {
      screen.clear();
      throw new UserError(notLinked(view));
    }
    screen.show(shownText(view, sizeOf(process.stdout)));
  }
  screen.clear();
  // given up: nothing is kept of an attempt that no phone accepted
  if (!isLinked(await client.view())) await client.stop();
  say('Not linked. `fetch pair` shows a new code.');
}

/** `fetch unpair`: logs out, which removes this device from the phone's list. */
export async function unpair(config: Config): Promise<void> {
  const client = await whatsappClientOf(config);
  const before = await client.view();
  if (before.phone === null) return say('WhatsApp is not linked.');
  await client.logout();
  for await (const view of follow(client, AbortSignal.timeout(60_000))) {
    if (view.wanted === 'off' && view.phone === null)
      return say('WhatsApp is logged out. `fetch pair` links it again.');
  }
  throw new UserError('WhatsApp is still logging out; `fetch doctor` tells how it stands.');
}

/**
 * Pairing beside a chat, begun when the person asked for WhatsApp. It is shown until it is linked, skipped or given up,
 * and never disturbs typing. `write` prints above the line that is being typed.
 */
export function offerPairing(
  client: WhatsAppClient,
  write: (text: string) => void,
  signal: AbortSignal,
  size: () => ScreenSize,
): ChatOffer {
  let pending = true;
  let hushed = false;
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const run = async (): Promise<void> => {
    const before = await client.view(until);
    if (isLinked(before)) return write(linkedText(before));
    await client.start();
    let shown: string | null = null;
    let told: string | null = null;
    for await (const view of follow(client, until)) {
      if (isLinked(view)) return write(linkedText(view));
      if (view.wanted !== 'on' || view.needs !== null) return write(`${notLinked(view)} Here: write whatsapp.`);
      if (view.qr && view.qr !== shown && !(hushed && shown !== null)) {
        write(
          qrText(
            view.qr,
            `${HOW_TO_SCAN}\n${shown === null ? '/skip leaves it.' : '(renewed; /skip leaves it)'}`,
            size(),
          ),
        );
        shown = view.qr;
      } else if (!view.qr && view.lastError && view.lastError !== told) {
        write(view.lastError);
        told = view.lastError;
      }
    }
  };
  void run()
    .catch((error: Error) => {
      if (!until.aborted) write(`WhatsApp cannot be linked now: ${error.message}`);
    })
    .finally(() => {
      // nothing is kept of an attempt that no phone accepted
      if (pending && signal.aborted) void client.stop().catch(() => {});
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
      write('WhatsApp is left. Write whatsapp when you want it.');
    },
  };
}

/** Why it ended without a phone, as the gateway says. */
const notLinked = (view: WhatsAppView): string =>
  view.lastError ?? 'WhatsApp was not linked: it was stopped from elsewhere.';

const isLinked = (view: WhatsAppView): boolean => view.state === 'authenticated' && view.phone !== null;

function linkedText(view: WhatsAppView): string {
  const use =
    view.number === 'dedicated'
      ? 'Authorised people write to this number, and need no trigger. (It is your own number? fetch pair --number shared)'
      : 'Write to yourself on WhatsApp (the chat "Message yourself"). In other chats it answers you only when a message begins with the trigger. (It has a number of its own? fetch pair --number dedicated)';
  return `WhatsApp is linked: +${view.phone}\n${use}`;
}

const WHERE = 'On the phone: WhatsApp > Settings (Android: the three dots) > Linked devices > Link a device';
const HOW_TO_SCAN = `${WHERE}, and scan this.\nWithout a camera: fetch pair --phone +491701234567`;

function shownText(view: WhatsAppView, size: ScreenSize): string {
  if (view.pairingCode)
    return `${WHERE} > Link with phone number instead, then enter\n\n    ${styleText('bold', `${view.pairingCode.slice(0, 4)}-${view.pairingCode.slice(4)}`)}\n`;
  if (view.qr) return qrText(view.qr, HOW_TO_SCAN, size);
  return view.lastError ? `Connecting to WhatsApp… (${view.lastError})` : 'Connecting to WhatsApp…';
}

interface ScreenSize {
  columns: number;
  rows: number;
}
/** Output that is not a terminal has space for everything. */
const sizeOf = ({
  columns = Number.POSITIVE_INFINITY,
  rows = Number.POSITIVE_INFINITY,
}: Partial<ScreenSize>): ScreenSize => ({ columns, rows });

/** On a terminal, shows each text in place of the last; elsewhere one after the other. */
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

const reasons: Record<string, string> = {
  TOO_SHORT: 'it is too short',
  TOO_LONG: 'it is too long',
  INVALID_LENGTH: 'no number of that country has so many digits',
  INVALID_COUNTRY: 'no country has such a code',
  NOT_A_NUMBER: 'it is no number',
};

/**
 * The digits of a number that a code can be asked for. Throws an Error for the person: nothing was asked of anybody by
 * then.
 */
export function phoneToPair(written: string): string {
  const digits = phoneOf(written);
  const wrong =
    digits === null
      ? /^\D*0/.test(written)
        ? 'it does not say the country'
        : 'it is no number'
      : reasons[validatePhoneNumberLength(`+${digits}`) ?? ''];
  if (digits === null || wrong)
    throw new UserError(
      `${written} cannot be paired: ${wrong}. Write the number in international form, such as +49 170 1234567.`,
    );
  return digits;
}

/** Light modules around it, without which a camera does not find it. */
const QUIET = 2;
const GAP = '  ';
const NARROWEST_CAPTION = 24;

/**
 * A QR with what to do with it, as large as the screen allows: of half-high blocks with the words below, or in small,
 * of blocks of two by three with the words beside it. Where neither fits it says so. A row is left for what is typed.
 */
export function qrText(qr: string, caption: string, { columns, rows }: { columns: number; rows: number }): string {
  const large = renderUnicodeCompact(qr, { ecc: 'L', border: QUIET }).split('\n');
  const below = wrap(caption, columns - 1).split('\n');
  if (large[0]!.length < columns && large.length + below.length < rows)
    return [...large.map(coloured), ...below].join('\n');
  const small = sextants(qr);
  const width = widthOf(small[0]!) + GAP.length;
  const beside = columns - 1 - width;
  const lines = beside >= NARROWEST_CAPTION ? wrap(caption, beside).split('\n') : [];
  if (lines.length > 0 && lines.length <= small.length && small.length < rows)
    return small.map((row, index) => `${coloured(row)}${lines[index] ? GAP + lines[index] : ''}`).join('\n');
  const needed = `${width + NARROWEST_CAPTION + 1} columns and ${small.length + 1} rows`;
  return wrap(
    `This window is too small for the QR: it takes ${needed}. Make it larger and ask again, or link without a camera: fetch pair --phone +491701234567`,
    columns - 1,
  );
}

/** Black and white are said outright, because terminals are light or dark. */
const coloured = (row: string): string => styleText(['whiteBright', 'bgBlack'], row);

/** Two columns and three rows of modules in each character, so that a module is nearly square in a terminal. */
export function sextants(text: string): string[] {
  const { data } = encode(text, { ecc: 'L', border: QUIET });
  const lit = (y: number, x: number): boolean => data[y]?.[x] === false;
  return Array.from({ length: Math.ceil(data.length / 3) }, (_, row) =>
    Array.from({ length: Math.ceil(data.length / 2) }, (_, column) => {
      let bits = 0;
      for (let bit = 0; bit < 6; bit++) if (lit(row * 3 + (bit >> 1), column * 2 + (bit & 1))) bits |= 1 << bit;
      return sextant(bits);
    }).join(''),
  );
}

const LEFT_HALF = 0b010101;
const RIGHT_HALF = 0b101010;
const ALL = 0b111111;

/** Unicode leaves those out that it had already. */
function sextant(bits: number): string {
  if (bits === 0) return ' ';
  if (bits === ALL) return '█';
  if (bits === LEFT_HALF) return '▌';
  if (bits === RIGHT_HALF) return '▐';
  return String.fromCodePoint(0x1fb00 + bits - 1 - Number(bits > LEFT_HALF) - Number(bits > RIGHT_HALF));
}
