import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { silenceConsole } from '../../../src/gateway/channels/whatsapp/library/silence.ts';
import type { Live, WhatsAppDeps } from '../../../src/gateway/channels/whatsapp/live.ts';
import { GroupCache } from '../../../src/gateway/channels/whatsapp/outbound/group-cache.ts';
import { messageIdOf } from '../../../src/gateway/channels/whatsapp/outbound/parts.ts';
import { getMessage, trackReceipts } from '../../../src/gateway/channels/whatsapp/outbound/receipts.ts';
import { type SenderDeps, whatsappSender } from '../../../src/gateway/channels/whatsapp/outbound/send.ts';
import { findOutgoing, markSent } from '../../../src/store/chats/messages/outbox.ts';
import type { OutboxTable } from '../../../src/store/schema/tables/chats.ts';
import { sendsOf } from '../../../src/store/whatsapp/sends.ts';
import { startTestDatabase, type TestDatabase } from '../database.ts';
import { newThread } from '../thread.ts';
import { until } from '../until.ts';
import { pairedClient, type TestClient } from './client.ts';
import type { Contact } from './contact.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from './fixture.ts';

export const ACCOUNT = 'default';
export const HOUR = 3_600_000;
const log = pino({ level: 'silent' });
/** never aborted */
export const signal = new AbortController().signal;

export interface Chat {
  chatId: string;
  threadId: string;
  contact: Contact | null;
  jid: string;
}

export type Outgoing = ReturnType<typeof outgoing>;

/**
 * The way out alone, with the library as it is against the local WhatsApp and a real PostgreSQL, for a whole test file.
 * The connection counts as open between `opened` and `closed`.
 */
export function outgoing() {
  let fixture: WhatsAppFixture;
  let database: TestDatabase;
  let client: TestClient;
  let live: Live | null = null;
  let closing: AbortController;
  let deps: WhatsAppDeps;
  let groups: GroupCache;
  let stopTracking: undefined | (() => void | Promise<void>);
  let counter = 0;

  const config = (env: Record<string, string> = {}) =>
    loadConfig({}, { FETCH_HOME: '/nonexistent', WHATSAPP_PACE_MS: '0', ...env });
  const db = () => database.store.db;

  function opened(): void {
    closing = new AbortController();
    const { account } = fixture;
    live = {
      sock: client.sock,
      account: ACCOUNT,
      me: { jid: account.pn, lid: account.lid },
      number: 'dedicated',
      closed: closing.signal,
    };
    stopTracking = trackReceipts(deps)(live) as () => void;
  }
  function closed(): void {
    void stopTracking?.();
    live = null;
    closing.abort();
  }
  /** A new socket with the same credentials: every cache of the library is gone. */
  async function reconnect(): Promise<void> {
    closed();
    client.stop();
    client.open = false;
    client.connect();
    await client.opened();
    opened();
  }

  const channel = (fields: Partial<SenderDeps> = {}) =>
    whatsappSender({ ...deps, live: () => live, patienceMs: 50, ...fields });

  async function chatWith(contact: Contact): Promise<Chat> {
    await db()
      .insertInto('wa_contacts')
      .values({
        account: ACCOUNT,
        lid: contact.lid,
        pn: contact.pn,
        name: contact.name,
        chat_address: contact.lid,
        reply_jid: contact.lid,
      })
      .execute();
    return { ...(await chatAt(contact.lid)), contact };
  }
  async function chatAt(address: string): Promise<Chat> {
    const chat = await newThread(db(), {
      channel: 'whatsapp',
      address,
      model: 'auto',
      chatKey: (of) => of.replace(/\W/g, ''),
    });
    return { ...chat, contact: null, jid: address };
  }
  async function turnOf(chat: Chat, status: 'in_progress' | 'completed' = 'completed'): Promise<string> {
    const id = `turn_${++counter}`;
    await db()
      .insertInto('turns')
      .values({
        id,
        thread_id: chat.threadId,
        status,
        input_summary: '',
        started_at: new Date(),
        ended_at: null,
        error: null,
        auto_approve: null,
        model: null,
      })
      .execute();
    return id;
  }
  async function queue(
    chat: Chat,
    body: string,
    fields: { kind?: OutboxTable['kind']; turnId?: string; ageMs?: number; id?: string } = {},
  ): Promise<string> {
    const id = fields.id ?? `out_${++counter}`;
    await db()
      .insertInto('outbox')
      .values({
        id,
        chat_id: chat.chatId,
        thread_id: chat.threadId,
        turn_id: fields.turnId ?? null,
        kind: fields.kind ?? 'answer',
        body,
        error: null,
        sent_at: null,
        created_at: new Date(Date.now() - (fields.ageMs ?? 0)),
      })
      .execute();
    return id;
  }
  /** What the delivery activity does, with Temporal's retries. */
  async function deliver(id: string, sender = channel(), attempts = 5): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const row = await findOutgoing(db(), id);
      if (row?.state !== 'queued') return;
      try {
        await sender.send(row, signal);
        return await markSent(db(), id);
      } catch (error) {
        if (attempt >= attempts) throw error;
        await pause(20);
      }
    }
  }
  const shownTo = (contact: Contact, id: string, part = 0) =>
    until(`${contact.name} sees ${id}`, () => contact.message(messageIdOf(id, part)), 10_000);
  const stateOf = async (id: string): Promise<string[]> => (await sendsOf(db(), id)).map(({ state }) => state);
  const outboxState = async (id: string) =>
    (await db().selectFrom('outbox').select(['state', 'error']).where('id', '=', id).executeTakeFirstOrThrow()) as {
      state: string;
      error: string | null;
    };

  let unsilence: () => void;
  beforeAll(async () => {
    // libsignal prints sessions
    unsilence = silenceConsole(log);
    database = await startTestDatabase(8);
    fixture = await startWhatsAppFixture();
    deps = { db: db(), config: config(), log, account: ACCOUNT };
    await db().insertInto('wa_accounts').values({ account: ACCOUNT, wanted: 'on', state: 'authenticated' }).execute();
    groups = new GroupCache({ ...deps, live: () => live });
    client = await pairedClient(fixture, {
      config: { getMessage: getMessage(deps), cachedGroupMetadata: groups.cachedGroupMetadata, emitOwnEvents: true },
    });
  }, 60_000);
  afterAll(async () => {
    client?.stop();
    await fixture?.close();
    await database?.close();
    unsilence();
  });

  return {
    get fixture() {
      return fixture;
    },
    get client() {
      return client;
    },
    get live() {
      return live!;
    },
    get deps() {
      return deps;
    },
    get groups() {
      return groups;
    },
    config,
    db,
    opened,
    closed,
    reconnect,
    channel,
    chatWith,
    chatAt,
    turnOf,
    queue,
    deliver,
    shownTo,
    stateOf,
    outboxState,
  };
}
