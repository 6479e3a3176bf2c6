import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { outboxId } from '../../src/contracts/ids.ts';
import { ChannelAway } from '../../src/gateway/channel.ts';
import { groupCache } from '../../src/gateway/whatsapp/group-cache.ts';
import type { Live, WhatsAppDeps } from '../../src/gateway/whatsapp/live.ts';
import { messageIdOf } from '../../src/gateway/whatsapp/parts.ts';
import { typing } from '../../src/gateway/whatsapp/presence.ts';
import { getMessage, trackReceipts } from '../../src/gateway/whatsapp/receipts.ts';
import { type SenderDeps, whatsappChannel } from '../../src/gateway/whatsapp/send.ts';
import { silenceConsole } from '../../src/gateway/whatsapp/silence.ts';
import { json } from '../../src/store/database.ts';
import { findOutgoing, markSent } from '../../src/store/outbox.ts';
import type { OutboxTable } from '../../src/store/schema.ts';
import { createThread } from '../../src/store/threads.ts';
import { wish } from '../../src/store/whatsapp/account.ts';
import { sendPause } from '../../src/store/whatsapp/pause.ts';
import { deliveryFigures, sendsOf } from '../../src/store/whatsapp/sends.ts';
import { startTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { pairedClient, type TestClient } from '../support/whatsapp/client.ts';
import type { Contact } from '../support/whatsapp/contact.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import { el } from '../support/whatsapp/stanza.ts';

/** The library as it is against the local WhatsApp, with a real PostgreSQL: what leaves, once, and what became of it. */

const ACCOUNT = 'default';
const HOUR = 3_600_000;
const log = pino({ level: 'silent' });
const signal = new AbortController().signal;

let fixture: WhatsAppFixture;
let database: TestDatabase;
let client: TestClient;
let live: Live | null = null;
let closing: AbortController;
let deps: WhatsAppDeps;
let groups: ReturnType<typeof groupCache>;
let stopTracking: undefined | (() => void | Promise<void>);
let counter = 0;

const config = (env: Record<string, string> = {}) => loadConfig({}, { FETCH_HOME: '/nonexistent', WHATSAPP_PACE_MS: '0', ...env });
const db = () => database.store.db;

function opened(): void {
  closing = new AbortController();
  const { account } = fixture;
  live = { sock: client.sock, account: ACCOUNT, me: { jid: account.pn, lid: account.lid }, number: 'dedicated', closed: closing.signal };
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

const channel = (fields: Partial<SenderDeps> = {}) => whatsappChannel({ ...deps, live: () => live, patienceMs: 50, ...fields });

interface Chat {
  chatId: string;
  threadId: string;
  contact: Contact | null;
  jid: string;
}
async function chatWith(contact: Contact): Promise<Chat> {
  await db()
    .insertInto('wa_contacts')
    .values({ account: ACCOUNT, lid: contact.lid, pn: contact.pn, name: contact.name, chat_address: contact.lid, reply_jid: contact.lid })
    .execute();
  return { ...(await chatAt(contact.lid)), contact };
}
async function chatAt(address: string): Promise<Chat> {
  const thread = await createThread(db(), {
    channel: 'whatsapp',
    address,
    model: 'auto',
    workspace: '/',
    mode: 'agent',
    allow_shell: false,
    trust_mode: false,
    auto_approve: false,
    archived: false,
    autonomy: 'cautious',
    chatKey: (of) => of.replace(/\W/g, ''),
  });
  const { chat_id } = await db().selectFrom('threads').select('chat_id').where('id', '=', thread.id).executeTakeFirstOrThrow();
  return { chatId: chat_id, threadId: thread.id, contact: null, jid: address };
}
async function turnOf(chat: Chat, status: 'in_progress' | 'completed' = 'completed'): Promise<string> {
  const id = `turn_${++counter}`;
  await db()
    .insertInto('turns')
    .values({ id, thread_id: chat.threadId, status, input_summary: '', started_at: new Date(), ended_at: null, error: null, auto_approve: null, model: null })
    .execute();
  return id;
}
async function queue(chat: Chat, body: string, fields: { kind?: OutboxTable['kind']; turnId?: string; ageMs?: number; id?: string } = {}): Promise<string> {
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
const shownTo = (contact: Contact, id: string, part = 0) => until(`${contact.name} sees ${id}`, () => contact.message(messageIdOf(id, part)), 10_000);
const stateOf = async (id: string): Promise<string[]> => (await sendsOf(db(), id)).map(({ state }) => state);
const outboxState = async (id: string) =>
  (await db().selectFrom('outbox').select(['state', 'error']).where('id', '=', id).executeTakeFirstOrThrow()) as { state: string; error: string | null };

let unsilence: () => void;
beforeAll(async () => {
  // libsignal prints sessions
  unsilence = silenceConsole(log);
  database = await startTestDatabase(8);
  fixture = await startWhatsAppFixture();
  deps = { db: db(), config: config(), log, account: ACCOUNT };
  await db().insertInto('wa_accounts').values({ account: ACCOUNT, wanted: 'on', state: 'authenticated' }).execute();
  groups = groupCache({ ...deps, live: () => live });
  client = await pairedClient(fixture, { config: { getMessage: getMessage(deps), cachedGroupMetadata: groups.cachedGroupMetadata, emitOwnEvents: true } });
}, 60_000);
afterAll(async () => {
  client?.stop();
  await fixture?.close();
  await database?.close();
  unsilence();
});

describe('messages to WhatsApp', () => {
  let bob: Contact;
  let chat: Chat;
  beforeEach(async () => {
    opened();
    bob = fixture.contact('Bob');
    chat = await chatWith(bob);
  });
  afterEach(() => closed());

  it('are sent when the server has taken them, under an id derived from the outbox row', async () => {
    const id = await queue(chat, 'Hello **Bob**');
    await deliver(id);
    expect((await shownTo(bob, id)).shown.text).toBe('Hello *Bob*');
    expect(await outboxState(id)).toEqual({ state: 'sent', error: null });
    await until('the receipt is stored', async () => (await stateOf(id))[0] === 'delivered', 5_000);
    expect(fixture.ledger.undecryptable).toEqual([]);
  });

  it('carry the same id and the same bytes when the ack was lost, and are shown once', async () => {
    const id = await queue(chat, 'only once');
    fixture.faults.receipts.delivered = false;
    fixture.faults.dropAcks(1);
    const stuck: string[] = [];
    await expect(channel({ deadlineMs: 300, stuck: (why) => stuck.push(why) }).send((await findOutgoing(db(), id))!, signal)).rejects.toBeInstanceOf(
      ChannelAway,
    );
    expect(await stateOf(id)).toEqual(['queued']);
    await deliver(id);
    fixture.faults.receipts.delivered = true;
    const shown = await shownTo(bob, id);
    await until('the message was on the wire twice', () => shown.times === 2, 5_000);
    expect(bob.screen()).toEqual(['only once']);
    expect(await sendsOf(db(), id)).toMatchObject([{ attempts: 2, state: 'sent' }]);
    expect(stuck).toEqual([]);
  });

  it('give the process up when two in a row are not acknowledged', async () => {
    const stuck: string[] = [];
    fixture.faults.receipts.delivered = false;
    fixture.faults.dropAcks(2);
    const sender = channel({ deadlineMs: 200, stuck: (why) => stuck.push(why) });
    await deliver(await queue(chat, 'hello?'), sender);
    fixture.faults.receipts.delivered = true;
    expect(stuck).toEqual(['2 messages in a row were not acknowledged on an open connection']);
  });

  it('are not sent again after a crash between the ack and the outbox row, because a receipt proves that they arrived', async () => {
    const id = await queue(chat, 'crash');
    fixture.faults.dropAcks(1);
    fixture.faults.holdReceipts(true);
    await expect(channel({ deadlineMs: 200 }).send((await findOutgoing(db(), id))!, signal)).rejects.toBeInstanceOf(ChannelAway);
    fixture.faults.holdReceipts(false);
    await until('the receipt is stored', async () => (await stateOf(id))[0] === 'delivered', 5_000);
    await deliver(id);
    expect((await shownTo(bob, id)).times).toBe(1);
  });

  it('are on the wire once when two attempts run at the same time', async () => {
    const id = await queue(chat, 'at once');
    const sender = channel();
    const row = (await findOutgoing(db(), id))!;
    await Promise.all([sender.send(row, signal), sender.send(row, signal), sender.send(row, signal)]);
    await deliver(id, sender);
    await shownTo(bob, id);
    expect(fixture.ledger.timesSeen(messageIdOf(id, 0))).toBe(1);
  });

  it('are cut at natural places, in order, without losing a word', async () => {
    const body = Array.from({ length: 60 }, (_, index) => `Paragraph ${index}: ${'some words here. '.repeat(8)}`).join('\n\n');
    const id = await queue(chat, body);
    await deliver(id);
    const parts = await sendsOf(db(), id);
    expect(parts.length).toBeGreaterThan(1);
    await shownTo(bob, id, parts.length - 1);
    expect(bob.screen().join('\n').replace(/\s+/g, ' ').trim()).toBe(body.replace(/\s+/g, ' ').trim());
  });

  it('continue with the part that is missing when the connection was lost between two', async () => {
    const id = await queue(chat, 'word '.repeat(2000));
    let parts = 0;
    const sender = channel({
      pacer: {
        take: async () => {
          if (++parts === 2) closed();
        },
      },
    });
    await expect(sender.send((await findOutgoing(db(), id))!, signal)).rejects.toBeInstanceOf(ChannelAway);
    expect(await stateOf(id)).toEqual([expect.stringMatching(/sent|delivered/), 'queued', 'queued']);
    opened();
    await deliver(id);
    await shownTo(bob, id, 2);
    expect(bob.received.map(({ times }) => times)).toEqual([1, 1, 1]);
  });

  it('are a file when they are very long, which is uploaded once however often it is sent', async () => {
    const body = Array.from({ length: 4000 }, (_, index) => `line ${index}`).join('\n');
    const id = await queue(chat, body);
    const before = fixture.media.uploads.length;
    fixture.faults.receipts.delivered = false;
    fixture.faults.dropAcks(2);
    await deliver(id, channel({ deadlineMs: 300 }));
    fixture.faults.receipts.delivered = true;
    const shown = await shownTo(bob, id);
    expect(shown).toMatchObject({ kind: 'document', media: { fileName: 'answer.txt', mimetype: 'text/plain', error: null } });
    expect(shown.media?.bytes?.toString()).toBe(body);
    expect(shown.shown.text).toMatch(/^line 0\nline 1/);
    await until('it was on the wire three times', () => shown.times === 3, 5_000);
    expect(fixture.media.uploads.length - before).toBe(1);
  });

  it('are text when their file cannot be uploaded', async () => {
    const id = await queue(chat, 'word '.repeat(6000));
    fixture.faults.failUploads(5);
    await deliver(id, channel(), 10);
    expect((await shownTo(bob, id)).kind).toBe('text');
    expect((await sendsOf(db(), id)).length).toBeGreaterThan(5);
  });

  it('bring the pictures of their own thread, and nothing of another one', async () => {
    const other = await chatAt('other@lid');
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
    const attachment = (id: string, thread_id: string) => ({
      id,
      thread_id,
      kind: 'image' as const,
      mime: 'image/png',
      name: 'a.png',
      size: png.length,
      sha256: '',
      data: png,
      text: null,
    });
    await db()
      .insertInto('attachments')
      .values([attachment('att_mine', chat.threadId), attachment('att_theirs', other.threadId)] as never)
      .execute();
    const id = await queue(chat, 'See\n\n![a dot](attachment:att_mine)\n\n![secret](attachment:att_theirs)');
    await deliver(id);
    expect((await shownTo(bob, id, 1)).media).toMatchObject({ kind: 'image', error: null, bytes: png });
    expect((await shownTo(bob, id, 2)).shown.text).toBe('(a file could not be sent: secret)');
  });

  it('quote the message that they answer, once', async () => {
    const turnId = await turnOf(chat);
    const asked = await bob.send('What is 1+1?');
    const received = await client.message(asked.id);
    const { proto } = await import('@whiskeysockets/baileys');
    await db()
      .insertInto('inbox')
      .values({
        id: 'inb_q',
        chat_id: chat.chatId,
        thread_id: chat.threadId,
        turn_id: turnId,
        channel_message_id: asked.id,
        arrival: json({ kind: 'turn' }),
        body: '',
        signalled_at: null,
        consumed_at: null,
      })
      .execute();
    await db()
      .insertInto('wa_inbox')
      .values({
        account: ACCOUNT,
        chat: bob.lid,
        from_me: false,
        message_id: asked.id,
        content: Buffer.from(proto.Message.encode(received.message!).finish()),
        attrs: '{}',
        handled_at: new Date(),
        verdict: 'turn',
        inbox_id: 'inb_q',
      } as never)
      .execute();
    const id = await queue(chat, `2\n\n${'and so on. '.repeat(500)}`, { turnId });
    await deliver(id);
    expect((await shownTo(bob, id)).quotedId).toBe(asked.id);
    expect((await shownTo(bob, id, 1)).quotedId).toBeNull();
  });

  it('reach the own phone in the chat with oneself', async () => {
    const id = await queue(await chatAt(fixture.account.lid), 'note to self');
    await deliver(id);
    const shown = await until('the phone shows it', () => fixture.phone.message(messageIdOf(id, 0)), 5_000);
    expect(shown).toMatchObject({ chat: fixture.account.lid, by: 'client', shown: { text: 'note to self' } });
  });

  it('that waited go out in order, each once, and say how old they are', async () => {
    const ids = [await queue(chat, 'first', { ageMs: 5 * HOUR }), await queue(chat, 'second', { ageMs: 2 * HOUR }), await queue(chat, 'third')];
    closed();
    await expect(channel().send((await findOutgoing(db(), ids[0]!))!, signal)).rejects.toMatchObject({ name: 'ChannelAway', retryAfterMs: 1000 });
    await reconnect();
    for (const id of ids) await deliver(id);
    await shownTo(bob, ids[2]!);
    expect(bob.screen()).toEqual(['(written 5 h ago, while WhatsApp was away)\n\nfirst', '(written 2 h ago, while WhatsApp was away)\n\nsecond', 'third']);
  });

  it('are dropped when their question was decided while WhatsApp was away', async () => {
    const id = await queue(chat, 'still?', { kind: 'question' });
    closed();
    const row = (await findOutgoing(db(), id))!;
    const sending = channel({ patienceMs: 5_000 }).send(row, signal);
    await db().updateTable('outbox').set({ state: 'dropped' }).where('id', '=', id).execute();
    opened();
    await sending;
    expect(await sendsOf(db(), id)).toEqual([]);
  });
});

describe('a refusal of WhatsApp', () => {
  let eve: Contact;
  let chat: Chat;
  beforeAll(async () => {
    eve = fixture.contact('Eve');
    chat = await chatWith(eve);
    await db()
      .insertInto('chats')
      .values({ id: 'console/terminal', channel: 'console', address: 'terminal', workflow_id: 'chat/console/terminal' } as never)
      .execute();
  });
  beforeEach(() => opened());
  afterEach(async () => {
    closed();
    await wish(db(), ACCOUNT, { wanted: 'on' });
  });

  it('(463) fails the message, stops all others for an hour and is told on the terminal', async () => {
    const id = await queue(chat, 'cold');
    fixture.faults.ackError(463);
    await deliver(id);
    expect(await outboxState(id)).toMatchObject({ state: 'failed', error: expect.stringContaining('463') });
    expect(await sendsOf(db(), id)).toMatchObject([{ state: 'failed', attempts: 1 }]);
    expect((await sendPause(db(), ACCOUNT))?.until.getTime()).toBeGreaterThan(Date.now() + 0.9 * HOUR);
    const next = await queue(chat, 'warm');
    await expect(channel().send((await findOutgoing(db(), next))!, signal)).rejects.toMatchObject({
      name: 'ChannelAway',
      message: expect.stringContaining('463'),
    });
    expect((await outboxState(next)).state).toBe('queued');
    const told = await db().selectFrom('outbox').select('body').where('chat_id', '=', 'console/terminal').where('id', 'like', '%send-463%').execute();
    expect(told).toHaveLength(1);
    await wish(db(), ACCOUNT, { wanted: 'on' });
    await deliver(next);
    expect((await shownTo(eve, next)).shown.text).toBe('warm');
    expect(fixture.ledger.timesSeen(messageIdOf(id, 0))).toBe(1);
  });

  it('(479) is answered with a fresh list of devices and the same id', async () => {
    const id = await queue(chat, 'stale');
    fixture.faults.ackError(479);
    await deliver(id);
    expect((await shownTo(eve, id)).shown.text).toBe('stale');
    expect(fixture.ledger.timesSeen(messageIdOf(id, 0))).toBe(2);
    await until('it is delivered', async () => (await stateOf(id))[0] === 'delivered', 5_000);
  });

  it('(403) keeps the message and stops everything', async () => {
    const id = await queue(chat, 'blocked');
    fixture.faults.ackError(403);
    await expect(channel().send((await findOutgoing(db(), id))!, signal)).rejects.toMatchObject({ name: 'ChannelAway' });
    expect(await stateOf(id)).toEqual(['queued']);
    expect(await sendPause(db(), ACCOUNT)).not.toBeNull();
    await wish(db(), ACCOUNT, { wanted: 'on' });
    await deliver(id);
    expect((await shownTo(eve, id)).shown.text).toBe('blocked');
  });

  it('with a code that nobody knows is tried again, then given up, so that the chat goes on', async () => {
    const id = await queue(chat, 'odd');
    fixture.faults.ackError(499, 4);
    await deliver(id, channel(), 6);
    expect(await outboxState(id)).toMatchObject({ state: 'failed', error: expect.stringContaining('499') });
    expect(await sendPause(db(), ACCOUNT)).toBeNull();
  });
});

describe('questions on WhatsApp', () => {
  async function question(
    chat: Chat,
    fields: { kind: 'question' | 'approval'; prompt: string; options?: string[]; args?: Record<string, unknown> },
  ): Promise<string> {
    const turnId = await turnOf(chat);
    const n = ++counter;
    await db()
      .insertInto('calls')
      .values({
        id: `call_${n}`,
        provider_id: 'x',
        turn_id: turnId,
        thread_id: chat.threadId,
        item_id: 'i',
        step: 0,
        position: 0,
        name: 'shell',
        args: json(fields.args ?? {}),
        danger: 'SAFE',
        effect: 'idempotent',
        state: 'pending',
        ok: null,
        output: null,
        started_at: null,
        ended_at: null,
      })
      .execute();
    await db()
      .insertInto('questions')
      .values({
        id: `qst_${n}`,
        chat_id: chat.chatId,
        thread_id: chat.threadId,
        turn_id: turnId,
        call_id: `call_${n}`,
        kind: fields.kind,
        prompt: fields.prompt,
        options: json(fields.options ?? []),
        state: 'open',
        decision: null,
        answer: null,
        decided_at: null,
      })
      .execute();
    return await queue(chat, 'as screens show it', { kind: 'question', turnId, id: outboxId(turnId, `qst_${n}`) });
  }
  let ann: Contact;
  let chat: Chat;
  beforeAll(async () => {
    ann = fixture.contact('Ann');
    chat = await chatWith(ann);
  });
  beforeEach(() => opened());
  afterEach(() => closed());

  it('are polls when polls are wanted, and the stored message decrypts the vote', async () => {
    const id = await question(chat, { kind: 'question', prompt: 'Red or blue?', options: ['Red', 'Blue'] });
    await deliver(id, channel({ config: config({ WHATSAPP_POLLS: 'true' }) }));
    const poll = await shownTo(ann, id);
    expect(poll.poll).toEqual({ name: 'Red or blue?', options: ['Red', 'Blue'], selectable: 1 });
    const [send] = await sendsOf(db(), id);
    expect(send!.questionId).toMatch(/^qst_/);
    const vote = await ann.vote(poll.id, ['Blue']);
    const { message } = await client.message(vote.id);
    const { decryptPollVote, proto } = await import('@whiskeysockets/baileys');
    const { messageSecret } = proto.Message.decode(send!.content).messageContextInfo!;
    const opened = decryptPollVote(message!.pollUpdateMessage!.vote!, {
      pollCreatorJid: fixture.account.lid,
      pollMsgId: poll.id,
      pollEncKey: messageSecret!,
      voterJid: ann.lid,
    });
    expect(opened.selectedOptions).toHaveLength(1);
  });

  it('are numbered lists otherwise', async () => {
    const id = await question(chat, { kind: 'question', prompt: 'Red or blue?', options: ['Red', 'Blue'] });
    await deliver(id);
    expect((await shownTo(ann, id)).shown.text).toBe('Red or blue?\n\n1. Red\n2. Blue');
  });

  it('for approval show what is asked for and say how to answer', async () => {
    const id = await question(chat, { kind: 'approval', prompt: 'May I run shell?', args: { command: 'rm *tmp*' } });
    await deliver(id);
    expect((await shownTo(ann, id)).shown.text).toBe(
      'May I run shell?\n\n```\n{\n  "command": "rm *tmp*"\n}\n```\n\nAnswer yes or no, or react with 👍 or 👎.',
    );
  });
});

describe('what becomes of a message', () => {
  let cat: Contact;
  let chat: Chat;
  beforeAll(async () => {
    cat = fixture.contact('Cat');
    chat = await chatWith(cat);
  });
  beforeEach(() => opened());
  afterEach(() => closed());

  it('is kept: delivered, then read, and never back', async () => {
    const id = await queue(chat, 'read me');
    await deliver(id);
    await until('it is delivered', async () => (await stateOf(id))[0] === 'delivered', 5_000);
    cat.readAll();
    await until('it is read', async () => (await stateOf(id))[0] === 'read', 5_000);
    expect(await deliveryFigures(db(), { chatId: chat.chatId }, new Date(0))).toMatchObject({ read: 1, failed: 0 });
  });

  it('is answered from the store when a phone asks again, also after a restart', async () => {
    const id = await queue(chat, 'again please');
    await deliver(id);
    const shown = await shownTo(cat, id);
    await reconnect();
    cat.requestRetry(shown.id);
    await until('it was sent again', () => shown.times >= 2, 10_000);
    expect(fixture.ledger.undecryptable).toEqual([]);
  });

  it('is not told to anybody else who asks for it', async () => {
    const id = await queue(chat, 'a secret');
    await deliver(id);
    const { id: messageId } = await shownTo(cat, id);
    await reconnect();
    const ask = getMessage(deps);
    expect(await ask({ remoteJid: cat.lid, fromMe: true, id: messageId })).toBeDefined();
    expect(await ask({ remoteJid: cat.pn, fromMe: true, id: messageId })).toBeDefined();
    const mallory = fixture.contact('Mallory');
    expect(await ask({ remoteJid: mallory.lid, fromMe: true, id: messageId })).toBeUndefined();
    const seen = fixture.ledger.timesSeen(messageId);
    fixture.inject(
      el('receipt', { id: messageId, type: 'retry', from: mallory.lid, t: 1 }, [
        el('retry', { count: 1, id: messageId, t: 1, v: 1 }),
        el('registration', {}, Buffer.alloc(4)),
      ]),
    );
    await until('the receipt was taken', () => fixture.queue.length === 0, 5_000);
    expect(fixture.ledger.timesSeen(messageId)).toBe(seen);
  });
});

describe('what a chat sees while it waits', () => {
  let dan: Contact;
  let chat: Chat;
  let stop: undefined | (() => void);
  beforeAll(async () => {
    dan = fixture.contact('Dan');
    chat = await chatWith(dan);
    // as after a pairing whose phone never told its name
    delete client.auth.state.creds.me!.name;
  });
  beforeEach(() => {
    opened();
    stop = typing(deps)(live!) as () => void;
  });
  afterEach(() => {
    stop?.();
    closed();
  });

  it('is "typing" while its turn runs, and nothing after it; the account is available only meanwhile', async () => {
    const turnId = await turnOf(chat, 'in_progress');
    await until('Dan sees typing', () => dan.sees === 'composing', 5_000);
    await db().updateTable('turns').set({ status: 'completed' }).where('id', '=', turnId).execute();
    await until('Dan sees no typing', () => dan.sees === 'paused', 5_000);
    const presence = () => fixture.ledger.presences.filter(({ stanza }) => stanza.tag === 'presence').map(({ stanza }) => stanza.attrs.type);
    await until('the account is unavailable again', () => presence().at(-1) === 'unavailable', 5_000);
    expect(presence()).toContain('available');
    expect(fixture.ledger.presences.findLast(({ stanza }) => stanza.tag === 'presence')?.stanza.attrs.name).toBe('Fetch');
  });

  it('is read receipts of what became input, and none of what did not', async () => {
    const wanted = await dan.send('do it');
    const ignored = await dan.send('not for you');
    const row = (message_id: string, inbox_id: string | null) =>
      ({
        account: ACCOUNT,
        chat: dan.lid,
        from_me: false,
        message_id,
        content: null,
        attrs: '{}',
        handled_at: new Date(),
        verdict: inbox_id ? 'turn' : 'not_addressed',
        inbox_id,
      }) as never;
    await db()
      .insertInto('wa_inbox')
      .values([row(wanted.id, 'inb_dan'), row(ignored.id, null)])
      .execute();
    await until('Dan sees that it was read', () => dan.receiptsOf(wanted.id).includes('read'), 5_000);
    await until(
      'that is remembered',
      async () => (await db().selectFrom('wa_inbox').select('read_sent_at').where('message_id', '=', wanted.id).executeTakeFirst())?.read_sent_at,
      5_000,
    );
    expect(dan.receiptsOf(ignored.id)).not.toContain('read');
    expect(dan.receiptsOf(wanted.id).filter((type) => type === 'read')).toHaveLength(1);
  });

  it('is one progress message whose text is replaced, and nothing of it after the turn', async () => {
    const turnId = await turnOf(chat, 'in_progress');
    const first = await queue(chat, 'step 1', { kind: 'progress', turnId });
    await deliver(first);
    const shown = await shownTo(dan, first);
    const skipped = await queue(chat, 'step 2', { kind: 'progress', turnId });
    const third = await queue(chat, 'step **3**', { kind: 'progress', turnId });
    await deliver(skipped);
    await deliver(third);
    await until('the text was replaced', () => shown.shown.text === 'step *3*', 10_000);
    expect(shown.shown.edits).toEqual(['step *3*']);
    expect((await outboxState(skipped)).state).toBe('dropped');
    await db().updateTable('turns').set({ status: 'completed' }).where('id', '=', turnId).execute();
    const late = await queue(chat, 'step 4', { kind: 'progress', turnId });
    await deliver(late);
    expect((await outboxState(late)).state).toBe('dropped');
  });
});

describe('a group', () => {
  beforeEach(() => opened());
  afterEach(() => closed());

  it('is asked for its members once, and again after they changed', async () => {
    const [one, two, three] = ['One', 'Two', 'Three'].map((name) => fixture.contact(name)) as [Contact, Contact, Contact];
    const group = fixture.group('Team', [one, two]);
    const chat = await chatAt(group.jid);
    const asked = () => fixture.ledger.iqs.filter(({ stanza }) => stanza.attrs.xmlns === 'w:g2' && stanza.attrs.to === group.jid).length;
    const stop = groups.onOpen(live!) as () => void;
    const say = async (body: string) => {
      const id = await queue(chat, body);
      await deliver(id);
      return id;
    };
    const first = await say('hello all');
    for (const each of [one, two]) expect((await shownTo(each, first)).shown.text).toBe('hello all');
    const before = asked();
    await shownTo(two, await say('again'));
    expect(asked()).toBe(before);
    group.add(three);
    await until('the change was heard', () => fixture.queue.length === 0, 5_000);
    await until(
      'the change is stored',
      async () => (await db().selectFrom('wa_groups').select('fetched_at').where('jid', '=', group.jid).executeTakeFirst())?.fetched_at.getTime() === 0,
      5_000,
    );
    expect((await shownTo(three, await say('welcome'))).shown.text).toBe('welcome');
    fixture.faults.failIq('w:g2', 429, 5);
    await shownTo(three, await say('still here'));
    stop();
    expect(fixture.ledger.undecryptable).toEqual([]);
  });
});
