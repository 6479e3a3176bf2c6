import type { GroupMetadata, proto, SocketConfig, WAMessageKey, WASocket } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Config } from '../../../../config.ts';
import { MINUTE } from '../../../../domain/time.ts';
import { type Baileys, quietLogger } from '../library/baileys.ts';
import type { AuthState } from '../ratchet/auth-state.ts';
import type { Ratchet } from '../ratchet/ratchet.ts';
import { isIgnored } from '../ratchet/stanza-rows.ts';

/** Caches that must outlive a socket: without them, each reconnect forgets who was asked how often to send again. */
export interface SocketCaches {
  msgRetryCounterCache: ReturnType<typeof baileysCache>;
  userDevicesCache: ReturnType<typeof baileysCache>;
  placeholderResendCache: ReturnType<typeof baileysCache>;
  callOfferCache: ReturnType<typeof baileysCache>;
}

export const socketCaches = (): SocketCaches => ({
  msgRetryCounterCache: baileysCache(10_000, 60 * MINUTE),
  userDevicesCache: baileysCache(2_000, 5 * MINUTE),
  placeholderResendCache: baileysCache(2_000, 60 * MINUTE),
  callOfferCache: baileysCache(200, 5 * MINUTE),
});

/** Questions that Baileys asks us. */
export interface SocketQuestions {
  /** the message that a recipient could not decrypt, from the store */
  getMessage(key: WAMessageKey): Promise<proto.IMessage | undefined>;
  cachedGroupMetadata(jid: string): Promise<GroupMetadata | undefined>;
}

export interface SocketOptions {
  baileys: Baileys;
  config: Config;
  log: Logger;
  auth: AuthState;
  ratchet: Ratchet;
  caches: SocketCaches;
  questions: SocketQuestions;
  /** `2.3000.n`; the bundled version when null */
  version: string | null;
}

/** The settings name an address that must not be used. */
class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress';
}

/**
 * Checks the configured addresses. Everything on a `ws:` connection, with its credentials, can be read on the way. It
 * is for tests, must be allowed, and is logged as a warning even then. @throws RefusedAddress
 */
export function checkAddress(
  config: Pick<Config, 'WA_WEB_SOCKET_URL' | 'WA_ALLOW_INSECURE' | 'WA_NOISE_ROOT_KEY' | 'WA_MEDIA_HOST'>,
): string[] {
  const url = config.WA_WEB_SOCKET_URL;
  if (url?.startsWith('ws:') && !config.WA_ALLOW_INSECURE)
    throw new RefusedAddress(
      'WA_WEB_SOCKET_URL is a ws: address: everything on it can be read on the way. Use wss:, or set WA_ALLOW_INSECURE=1 in a test.',
    );
  return [
    ...(url ? [`WHATSAPP TEST SERVER: connecting to ${url} instead of WhatsApp (WA_WEB_SOCKET_URL).`] : []),
    ...(url?.startsWith('ws:')
      ? ['INSECURE: this connection is not encrypted by TLS (WA_ALLOW_INSECURE). Never use it with a real account.']
      : []),
    ...(config.WA_NOISE_ROOT_KEY
      ? ['INSECURE: another certificate root than that of WhatsApp is trusted (WA_NOISE_ROOT_KEY).']
      : []),
    ...(config.WA_MEDIA_HOST
      ? [`WHATSAPP TEST SERVER: media is loaded from ${config.WA_MEDIA_HOST} (WA_MEDIA_HOST).`]
      : []),
  ];
}

/**
 * A socket for one connection; each connection has a new one. Attach its listeners in the same tick, before it
 * connects.
 */
export function makeSocket({
  baileys,
  config,
  log,
  auth,
  ratchet,
  caches,
  questions,
  version,
}: SocketOptions): WASocket {
  const sock = baileys.makeWASocket({
    logger: quietLogger(log.child({ part: 'baileys' })),
    auth: { creds: auth.creds, keys: auth.keys },
    makeSignalRepository: ratchet.makeSignalRepository,
    // a failed commit has ended the process, so there is nothing to retry
    transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 },
    browser: baileys.Browsers.macOS('Chrome'),
    ...(config.WA_WEB_SOCKET_URL && { waWebSocketUrl: config.WA_WEB_SOCKET_URL }),
    ...(version && { version: version.split('.').map(Number) as [number, number, number] }),
    // true would keep the owner's phone from ringing
    markOnlineOnConnect: false,
    syncFullHistory: false,
    // previews would fetch any address in a message
    generateHighQualityLinkPreview: false,
    emitOwnEvents: true,
    connectTimeoutMs: 20_000,
    defaultQueryTimeoutMs: 20_000,
    keepAliveIntervalMs: 25_000,
    // Baileys waits this long inside the mutex of all messages, and an unreadable message must not delay the others
    retryRequestDelayMs: 10,
    shouldIgnoreJid: isIgnored,
    patchMessageBeforeSending: onceEach,
    ...caches,
    ...questions,
  });
  ratchet.attachStanzas(sock);
  return sock;
}

/** A message to oneself names each own device twice, as the sender's and as the recipient's. */
function onceEach(message: proto.IMessage, jids?: string[]): ReturnType<SocketConfig['patchMessageBeforeSending']> {
  const each = [...new Set(jids)];
  return jids && each.length < jids.length ? each.map((recipientJid) => ({ recipientJid, message }) as never) : message;
}

/** Ends a socket now, without waiting for a server that does not answer the closing handshake. */
export async function endSocket(sock: WASocket, error?: Error): Promise<void> {
  const raw = (sock.ws as unknown as { socket?: { terminate(): void } | null }).socket;
  const ended = sock.end(error);
  raw?.terminate();
  await ended;
}

/** A cache with Baileys' interface, limited in size and age. It outlives a socket. */
export function baileysCache(max: number, ttlMs: number) {
  const entries = new LRUCache<string, { value: unknown }>({ max, ttl: ttlMs });
  const get = <T>(key: string): T | undefined => entries.get(key)?.value as T | undefined;
  const set = <T>(key: string, value: T): void => void entries.set(key, { value });
  const del = (key: string): void => void entries.delete(key);
  return {
    get,
    set,
    del,
    flushAll: (): void => entries.clear(),
    mget: async <T>(keys: string[]): Promise<Record<string, T | undefined>> =>
      Object.fromEntries(keys.map((key) => [key, get<T>(key)])),
    mset: <T>(pairs: Array<{ key: string; value: T }>): void => {
      for (const { key, value } of pairs) set(key, value);
    },
    mdel: (keys: string[]): void => keys.forEach(del),
  };
}
