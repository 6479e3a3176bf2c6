import { setTimeout as pause } from 'node:timers/promises';
import type { WASocket } from '@whiskeysockets/baileys';
import type { Logger } from 'pino';
import type { Live, OnOpen } from '../live.ts';
import { ForeignServer } from './library/certificates.ts';
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

export interface AttemptOptions extends SocketOptions {
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

/** One connection from its first byte to its close. A failure of the connection is returned, never thrown. */
export async function attempt(options: AttemptOptions): Promise<Ended> {
  const { auth, log, interrupt, baileys } = options;
  const sock = makeSocket(options);
  const over = new AbortController();
  const ends: Array<() => void | Promise<void>> = [];
  let openedAt: number | null = null;
  let worked = false;
  let refused: string | null = null;

  const leave = async (): Promise<void> => {
    if (options.wantsLogout() && openedAt !== null) await Promise.race([sock.logout().catch(() => {}), pause(LOGOUT_MS, undefined, { ref: false })]);
    await endSocket(sock);
  };

  const closed = new Promise<{ error: unknown }>((resolve) => {
    sock.ev.on('connection.update', (update) => {
      if (update.isNewLogin) void auth.save().then(options.paired, () => {});
      if (update.connection === 'open' && openedAt === null) {
        openedAt = Date.now();
        // connected only to log out
        if (options.wantsLogout()) return void leave().catch(() => {});
        const live = liveOf(sock, options, over.signal);
        options.opened(live);
        for (const opener of options.onOpen) open(opener, live, ends, log);
      }
      if (update.connection === 'close') resolve({ error: update.lastDisconnect?.error });
    });
  });
  sock.ev.on('creds.update', () => {
    auth.touch();
    void auth.save().catch(() => {});
  });
  if (!auth.paired()) {
    followPairing(sock, {
      creds: auth.creds,
      phone: options.phone,
      show: options.shown,
      failed(error) {
        refused = error.message;
        void endSocket(sock, error);
      },
    });
  }
  for (const stanza of ['CB:message', 'CB:receipt', 'CB:ack'])
    sock.ws.on(stanza, () => {
      worked ||= openedAt !== null;
    });
  sock.ws.on('CB:message', ({ attrs }: { attrs: Record<string, string> }) => {
    const { id = '', lid = '' } = auth.creds.me ?? {};
    const from = attrs.participant ?? attrs.from;
    if (baileys.areJidsSameUser(from, id) || baileys.areJidsSameUser(from, lid)) options.ownPhoneActed();
  });

  const onInterrupt = () => void leave().catch(() => {});
  if (interrupt.aborted) onInterrupt();
  else interrupt.addEventListener('abort', onInterrupt, { once: true });

  const { error } = await closed;
  interrupt.removeEventListener('abort', onInterrupt);
  over.abort();
  for (const end of ends)
    await Promise.resolve(end()).catch((problem: Error) => log.warn({ reason: problem.message }, 'could not end a part of the connection'));
  await auth.save().catch(() => {});
  const boom = error as { message?: string; output?: { statusCode?: number }; data?: { expire?: string; code?: unknown } } | undefined;
  const systemCode = openedAt === null && typeof boom?.data?.code === 'string' ? boom.data.code : undefined;
  return {
    code: boom?.output?.statusCode,
    interrupted: interrupt.aborted,
    openForMs: openedAt === null ? 0 : Date.now() - openedAt,
    worked,
    unreached: systemCode,
    foreign: error instanceof ForeignServer ? error.message : undefined,
    expiresInMs: Number(boom?.data?.expire) > 0 ? Number(boom?.data?.expire) * 1000 : undefined,
    reason: boom?.message ?? '',
    unscanned: NO_MORE_CODES.test(boom?.message ?? ''),
    pairingRefused: refused,
  };
}

function liveOf(sock: WASocket, { auth, account, baileys, number }: AttemptOptions, closed: AbortSignal): Live {
  const me = auth.creds.me;
  const jid = baileys.jidNormalizedUser(me?.id ?? '');
  return {
    sock,
    account,
    me: { jid, lid: me?.lid ? baileys.jidNormalizedUser(me.lid) : null },
    number: typeof number === 'function' ? number(jid) : number,
    closed,
  };
}

function open(opener: OnOpen, live: Live, ends: Array<() => void | Promise<void>>, log: Logger): void {
  try {
    const end = opener(live);
    if (end) ends.push(end);
  } catch (error) {
    log.error({ reason: (error as Error).message }, 'a part of the WhatsApp channel could not start with the connection');
  }
}
