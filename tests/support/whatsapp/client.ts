import { readFileSync } from 'node:fs';
import { Agent as HttpsAgent } from 'node:https';
import makeWASocket, {
  type AuthenticationState,
  type BaileysEventMap,
  BufferJSON,
  type ConnectionState,
  DisconnectReason,
  initAuthCreds,
  proto,
  type SignalDataTypeMap,
  type UserFacingSocketConfig,
  WA_CERT_DETAILS,
  type WAMessage,
  type WASocket,
} from '@whiskeysockets/baileys';
import { pino } from 'pino';
import { Agent, type Dispatcher } from 'undici';
import { until } from '../until.ts';
import type { WhatsAppFixture } from './fixture.ts';

/**
 * The unmodified library with its auth state in memory: what the fixture is proved against, and the baseline of
 * comparisons.
 */

export interface MemoryAuth {
  state: AuthenticationState;
  /** type -> id -> JSON */
  rows: Map<string, Map<string, string>>;
}

export function memoryAuth(): MemoryAuth {
  const rows: MemoryAuth['rows'] = new Map();
  const creds = initAuthCreds();
  const table = (type: string) => {
    if (!rows.has(type)) rows.set(type, new Map());
    return rows.get(type)!;
  };
  const keys: AuthenticationState['keys'] = {
    get: async <T extends keyof SignalDataTypeMap>(type: T, ids: string[]) => {
      const found: { [id: string]: SignalDataTypeMap[T] } = {};
      for (const id of ids) {
        const row = table(type).get(id);
        if (row === undefined) continue;
        const value = JSON.parse(row, BufferJSON.reviver);
        found[id] = type === 'app-state-sync-key' ? proto.Message.AppStateSyncKeyData.fromObject(value) : value;
      }
      return found;
    },
    set: async (data) => {
      for (const [type, entries] of Object.entries(data)) {
        for (const [id, value] of Object.entries(entries ?? {})) {
          if (value === null || value === undefined) table(type).delete(id);
          else table(type).set(id, JSON.stringify(value, BufferJSON.replacer));
        }
      }
    },
  };
  return { state: { creds, keys }, rows };
}

type Events = Partial<BaileysEventMap>;

export interface TestClient {
  sock: WASocket;
  auth: MemoryAuth;
  /** every event, in order, over all sockets of this client */
  events: Events[];
  messages: { message: WAMessage; type: string }[];
  updates: BaileysEventMap['messages.update'];
  /** codes of the closed connections, in order */
  closes: number[];
  qrs: string[];
  open: boolean;
  /** the upserted message with this id */
  message(id: string): Promise<WAMessage>;
  opened(): Promise<void>;
  closedWith(code: number): Promise<void>;
  /** a new socket with the same credentials */
  connect(options?: Partial<UserFacingSocketConfig>): void;
  stop(): void;
}

export interface ClientOptions {
  auth?: MemoryAuth;
  config?: Partial<UserFacingSocketConfig>;
  /** log level of the library; silent by default */
  log?: string;
}

/** Downloads that the library sends to WhatsApp's own media host (history always is) end at the fixture's. */
export function mediaDispatcher({ media }: Pick<WhatsAppFixture, 'media'>): Dispatcher {
  const agent = new Agent({ connect: { ca: readFileSync(media.caFile) } });
  const real = 'https://mmg.whatsapp.net';
  return agent.compose(
    (dispatch) => (request, handler) =>
      dispatch(request.origin === real ? { ...request, origin: `https://${media.host}` } : request, handler),
  );
}

/** Starts the library against the fixture; it reconnects by itself after pairing (515) only. */
export function startClient(fixture: WhatsAppFixture, options: ClientOptions = {}): TestClient {
  (WA_CERT_DETAILS as { PUBLIC_KEY: Buffer }).PUBLIC_KEY = Buffer.from(fixture.noiseRootKey, 'hex');
  const auth = options.auth ?? memoryAuth();
  const ca = readFileSync(fixture.media.caFile);
  const client: TestClient = {
    sock: undefined as unknown as WASocket,
    auth,
    events: [],
    messages: [],
    updates: [],
    closes: [],
    qrs: [],
    open: false,
    message: (id) =>
      until(`message ${id}`, () => client.messages.find(({ message }) => message.key.id === id)?.message, 10_000),
    opened: async () => void (await until('the client is open', () => client.open, 15_000)),
    closedWith: async (code) =>
      void (await until(`the client closes with ${code}`, () => client.closes.includes(code), 15_000)),
    connect: (more = {}) => {
      const sock = makeWASocket({
        auth: auth.state,
        waWebSocketUrl: fixture.url,
        logger: pino({ level: options.log ?? 'silent' }),
        browser: ['Ubuntu', 'Chrome', '22.04'],
        markOnlineOnConnect: false,
        syncFullHistory: false,
        retryRequestDelayMs: 1,
        defaultQueryTimeoutMs: 5_000,
        fetchAgent: new HttpsAgent({ ca }),
        options: { dispatcher: mediaDispatcher(fixture) } as UserFacingSocketConfig['options'],
        ...options.config,
        ...more,
      });
      client.sock = sock;
      sock.ev.process((events) => observe(client, events));
    },
    stop: () => client.sock.end(undefined),
  };
  client.connect();
  return client;
}

function observe(client: TestClient, events: Events): void {
  client.events.push(events);
  if (events['creds.update']) Object.assign(client.auth.state.creds, events['creds.update']);
  for (const message of events['messages.upsert']?.messages ?? [])
    client.messages.push({ message, type: events['messages.upsert']!.type });
  client.updates.push(...(events['messages.update'] ?? []));
  const update = events['connection.update'];
  if (update) observeConnection(client, update);
}

function observeConnection(client: TestClient, update: Partial<ConnectionState>): void {
  if (update.qr) client.qrs.push(update.qr);
  if (update.connection === 'open') client.open = true;
  if (update.connection !== 'close') return;
  client.open = false;
  const code =
    (update.lastDisconnect?.error as { output?: { statusCode?: number } } | undefined)?.output?.statusCode ?? 0;
  client.closes.push(code);
  if (code === DisconnectReason.restartRequired) client.connect();
}

/** A client that is paired by QR, logged in and through its first history. */
export async function pairedClient(fixture: WhatsAppFixture, options: ClientOptions = {}): Promise<TestClient> {
  const client = startClient(fixture, options);
  await fixture.phone.scan(await until('a QR', () => client.qrs.at(-1), 10_000));
  await client.opened();
  await until('the history', () => client.events.some((events) => events['messaging-history.set']), 10_000);
  return client;
}
