import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { createSealer } from '../../../src/adapters/encryption.ts';
import { loadConfig } from '../../../src/config.ts';
import { loadBaileys } from '../../../src/gateway/channels/whatsapp/library/baileys.ts';
import { type Connection, startConnection } from '../../../src/gateway/channels/whatsapp/link/connection.ts';
import type { WatchdogTimes } from '../../../src/gateway/channels/whatsapp/link/watchdog.ts';
import type { OnOpen } from '../../../src/gateway/channels/whatsapp/live.ts';
import type { Store } from '../../../src/store/postgres/database.ts';
import { readAccount, type WaAccount, wish } from '../../../src/store/whatsapp/account.ts';
import { until } from '../until.ts';
import type { WhatsAppFixture } from './fixture.ts';

/** Our own connection to the fixture, in this process and on a real database, without the rest of a gateway. */
export interface ConnectedGateway {
  connection: Connection;
  /** why the process would have ended */
  exits: string[];
  /** every line that was logged */
  lines: string[];
  /** how often messages were stored */
  stored(): number;
  row(): Promise<WaAccount>;
  /** waits until the row is as the condition says */
  rowWith(what: string, condition: (row: WaAccount) => boolean, ms?: number): Promise<WaAccount>;
  stop(): Promise<void>;
}

export const ACCOUNT = 'default';
export const KEY = randomBytes(32).toString('hex');

export async function startGateway(
  fixture: WhatsAppFixture,
  store: Store,
  options: {
    holder?: string;
    settings?: Record<string, string>;
    onOpen?: OnOpen[];
    key?: string;
    leaseTtlMs?: number;
    random?: () => number;
    watchdog?: Partial<WatchdogTimes>;
    /** where newer versions of WhatsApp Web are named, which a test must not ask */
    newestVersion?: () => [number, number, number] | null;
    /** how often an idle connection is tried; 5 s after that without an answer it counts as lost */
    keepAliveMs?: number;
  } = {},
): Promise<ConnectedGateway> {
  const { NODE_EXTRA_CA_CERTS: _, ...env } = fixture.env;
  const config = loadConfig({ FETCH_HOME: '/tmp/fetch-no-home', ...env, ...options.settings }, {});
  const lines: string[] = [];
  const exits: string[] = [];
  let stored = 0;
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const connection = startConnection({
    db: store.db,
    config,
    log,
    account: ACCOUNT,
    baileys: async () => {
      const library = await loadBaileys(log, config.WA_NOISE_ROOT_KEY);
      const newest = async () => ({
        version: options.newestVersion?.() ?? ([2, 3000, 1] as [number, number, number]),
        isLatest: true,
      });
      const makeWASocket: typeof library.makeWASocket = (socket) =>
        library.makeWASocket({ ...socket, ...(options.keepAliveMs && { keepAliveIntervalMs: options.keepAliveMs }) });
      return { ...library, makeWASocket, fetchLatestWaWebVersion: newest, fetchLatestBaileysVersion: newest };
    },
    holder: { id: options.holder ?? `test-${randomBytes(4).toString('hex')}`, isDead: async () => false },
    sealer: createSealer(options.key ?? KEY),
    questions: { getMessage: async () => undefined, cachedGroupMetadata: async () => undefined },
    onOpen: options.onOpen ?? [],
    onStored: () => {
      stored += 1;
    },
    exit: (reason) => void exits.push(reason),
    // without chance, and without waiting: the rules of backing off have tests of their own
    random: options.random ?? (() => 0),
    times: { pollMs: 50, leaseTtlMs: options.leaseTtlMs ?? 3_000, leaseEveryMs: 200, watchdog: options.watchdog },
  });
  const row = async () => (await readAccount(store.db, ACCOUNT))!;
  return {
    connection,
    exits,
    lines,
    stored: () => stored,
    row,
    rowWith: (what, condition, ms = 20_000) =>
      until(
        what,
        async () => {
          const now = await row();
          return now && condition(now) ? now : null;
        },
        ms,
      ),
    stop: () => connection.stop(),
  };
}

/** Links the gateway by QR and waits until it is connected. */
export async function link(fixture: WhatsAppFixture, store: Store, gateway: ConnectedGateway): Promise<WaAccount> {
  await wish(store.db, ACCOUNT, { wanted: 'on', pairPhone: null });
  const { qr } = await gateway.rowWith('a QR', (row) => row.qr !== null);
  await fixture.phone.scan(qr!);
  return gateway.rowWith('the account is connected', (row) => row.state === 'authenticated');
}
