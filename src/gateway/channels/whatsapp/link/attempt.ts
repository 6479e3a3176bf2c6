import { setTimeout as pause } from 'node:timers/promises';
import type { WASocket } from '@whiskeysockets/baileys';
import { ForeignServer } from '../library/certificates.ts';
import type { Live, OnOpen } from '../live.ts';
import { followPairing, type PairingShow } from './pairing.ts';
import { endSocket, makeSocket, type SocketOptions } from './socket.ts';

/** How a connection ended. */
export interface Ended {
  /** `output.statusCode` of the close; undefined for an error on our side, or when we ended it */
  code: number | undefined;
  /** we ended it: a stop, a lost lease, a new request */
  interrupted: boolean;
  /** ms that it was open; 0 when it never opened */
  openForMs: number;
  /** a message, a receipt or an ack came through it */
  worked: boolean;
  /** the system's error code when there was no connection at all */
  unreached: string | undefined;
  /** why the server that answered is not WhatsApp */
  foreign: string | undefined;
  /** how long WhatsApp says that a ban lasts */
  expiresInMs: number | undefined;
  reason: string;
  /** a code was shown, and nobody scanned it in time */
  unscanned: boolean;
  /** why WhatsApp gave no pairing code */
  pairingRefused: string | null;
}

interface AttemptOptions extends SocketOptions {
  account: string;
  /** digits to pair by code; null for a QR */
  phone: string | null;
  number: Live['number'] | ((ownJid: string) => Live['number']);
  onOpen: readonly OnOpen[];
  /** aborted to end the connection from our side */
  interrupt: AbortSignal;
  /** asked at an interruption: whether to log out, which tells the phone */
  wantsLogout(): boolean;
  shown(shown: PairingShow): void;
  /** the phone has accepted this device, and its credentials are stored */
  paired(): void;
  opened(live: Live): void;
  ownPhoneActed(): void;
}

const LOGOUT_MS = 10_000;
/** Baileys' text when WhatsApp sends no more pairing codes. */
const NO_MORE_CODES = /QR refs attempts ended/;

/** State of one connection. */
interface Connection {
  options: AttemptOptions;
  sock: WASocket;
  openedAt: number | null;
  worked: boolean;
  pairingRefused: string | null;
  /** aborted when it has ended */
  over: AbortController;
  /** end what `onOpen` began */
  ends: Array<() => void | Promise<void>>;
}

/** One connection from its first byte to its close. A failure of the connection is returned, never thrown. */
export async function attempt(options: AttemptOptions): Promise<Ended> {
  const { auth, interrupt } = options;
  const connection: Connection = {
    options,
    sock: makeSocket(options),
    openedAt: null,
    worked: false,
    pairingRefused: null,
    over: new AbortController(),
    ends: [],
  };
  const closed = untilClosed(connection);
  connection.sock.ev.on('creds.update', () => {
    auth.touch();
    void auth.save().catch(() => {});
  });
  if (!auth.paired()) pair(connection);
  watchTraffic(connection);
  const onInterrupt = () => void leave(connection).catch(() => {});
  if (interrupt.aborted) onInterrupt();
  else interrupt.addEventListener('abort', onInterrupt, { once: true });

  const error = await closed;
  interrupt.removeEventListener('abort', onInterrupt);
  await endParts(connection);
  await auth.save().catch(() => {});
  return endedOf(connection, error);
}

/** Opens the channel when WhatsApp does. Returns the error of the close. */
function untilClosed(connection: Connection): Promise<unknown> {
  const { options, sock } = connection;
  return new Promise((resolve) => {
    sock.ev.on('connection.update', (update) => {
      if (update.isNewLogin) void options.auth.save().then(options.paired, () => {});
      if (update.connection === 'open' && connection.openedAt === null) {
        connection.openedAt = Date.now();
        // connected only to log out
        if (options.wantsLogout()) return void leave(connection).catch(() => {});
        const live = liveOf(connection);
        options.opened(live);
        for (const opener of options.onOpen) open(opener, live, connection);
      }
      if (update.connection === 'close') resolve(update.lastDisconnect?.error);
    });
  });
}

function pair(connection: Connection): void {
  const { options, sock } = connection;
  followPairing(sock, {
    creds: options.auth.creds,
    phone: options.phone,
    show: options.shown,
    failed(error) {
      connection.pairingRefused = error.message;
      void endSocket(sock, error);
    },
  });
}

function watchTraffic(connection: Connection): void {
  const { sock, options } = connection;
  for (const stanza of ['CB:message', 'CB:receipt', 'CB:ack'])
    sock.ws.on(stanza, () => {
      connection.worked ||= connection.openedAt !== null;
    });
  sock.ws.on('CB:message', ({ attrs }: { attrs: Record<string, string> }) => {
    const { id = '', lid = '' } = options.auth.creds.me ?? {};
    const from = attrs.participant ?? attrs.from;
    const { areJidsSameUser } = options.baileys;
    if (areJidsSameUser(from, id) || areJidsSameUser(from, lid)) options.ownPhoneActed();
  });
}

/** Ends the connection from our side. */
async function leave({ options, sock, openedAt }: Connection): Promise<void> {
  if (options.wantsLogout() && openedAt !== null)
    await Promise.race([sock.logout().catch(() => {}), pause(LOGOUT_MS, undefined, { ref: false })]);
  await endSocket(sock);
}

async function endParts({ options, over, ends }: Connection): Promise<void> {
  over.abort();
  for (const end of ends)
    await Promise.resolve(end()).catch((problem: Error) =>
      options.log.warn({ reason: problem.message }, 'could not end a part of the connection'),
    );
}

function endedOf({ options, openedAt, worked, pairingRefused }: Connection, error: unknown): Ended {
  const boom = error as
    | { message?: string; output?: { statusCode?: number }; data?: { expire?: string; code?: unknown } }
    | undefined;
  return {
    code: boom?.output?.statusCode,
    interrupted: options.interrupt.aborted,
    openForMs: openedAt === null ? 0 : Date.now() - openedAt,
    worked,
    unreached: openedAt === null && typeof boom?.data?.code === 'string' ? boom.data.code : undefined,
    foreign: error instanceof ForeignServer ? error.message : undefined,
    expiresInMs: Number(boom?.data?.expire) > 0 ? Number(boom?.data?.expire) * 1000 : undefined,
    reason: boom?.message ?? '',
    unscanned: NO_MORE_CODES.test(boom?.message ?? ''),
    pairingRefused,
  };
}

function liveOf({ sock, options: { auth, account, baileys, number }, over }: Connection): Live {
  const me = auth.creds.me;
  const jid = baileys.jidNormalizedUser(me?.id ?? '');
  return {
    sock,
    account,
    me: { jid, lid: me?.lid ? baileys.jidNormalizedUser(me.lid) : null },
    number: typeof number === 'function' ? number(jid) : number,
    closed: over.signal,
  };
}

function open(opener: OnOpen, live: Live, { options, ends }: Connection): void {
  try {
    const end = opener(live);
    if (end) ends.push(end);
  } catch (error) {
    options.log.error(
      { reason: (error as Error).message },
      'a part of the WhatsApp channel could not start with the connection',
    );
  }
}
