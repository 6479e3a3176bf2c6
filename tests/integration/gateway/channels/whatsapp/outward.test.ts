import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChannelAway } from '../../../../../src/gateway/channels/channel.ts';
import { messageIdOf } from '../../../../../src/gateway/channels/whatsapp/outbound/parts.ts';
import { findOutgoing } from '../../../../../src/store/chats/messages/outbox.ts';
import { json } from '../../../../../src/store/postgres/database.ts';
import { learnTimer } from '../../../../../src/store/whatsapp/chats.ts';
import { sendsOf } from '../../../../../src/store/whatsapp/sends.ts';
import { until } from '../../../../support/until.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import { ACCOUNT, type Chat, HOUR, outgoing, signal } from '../../../../support/whatsapp/outgoing.ts';

/** What leaves for WhatsApp: once, whole, and as a phone can show it. */

const out = outgoing();
const {
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
} = out;

describe('messages to WhatsApp', () => {
  let bob: Contact;
  let chat: Chat;
  beforeEach(async () => {
    opened();
    bob = out.fixture.contact('Bob');
    chat = await chatWith(bob);
  });
  afterEach(() => closed());

  it('are sent when the server has taken them, under an id derived from the outbox row', async () => {
    const id = await queue(chat, 'Hello **Bob**');
    await deliver(id);
    expect((await shownTo(bob, id)).shown.text).toBe('Hello *Bob*');
    expect(await outboxState(id)).toEqual({ state: 'sent', error: null });
    await until('the receipt is stored', async () => (await stateOf(id))[0] === 'delivered', 5_000);
    expect(out.fixture.ledger.undecryptable).toEqual([]);
  });

  it('carry the same id and the same bytes when the ack was lost, and are shown once', async () => {
    const id = await queue(chat, 'only once');
    out.fixture.faults.receipts.delivered = false;
    out.fixture.faults.dropAcks(1);
    const stuck: string[] = [];
    await expect(
      channel({ deadlineMs: 300, stuck: (why) => stuck.push(why) }).send((await findOutgoing(db(), id))!, signal),
    ).rejects.toBeInstanceOf(ChannelAway);
    expect(await stateOf(id)).toEqual(['queued']);
    await deliver(id);
    out.fixture.faults.receipts.delivered = true;
    const shown = await shownTo(bob, id);
    await until('the message was on the wire twice', () => shown.times === 2, 5_000);
    expect(bob.screen()).toEqual(['only once']);
    expect(await sendsOf(db(), id)).toMatchObject([{ attempts: 2, state: 'sent' }]);
    expect(stuck).toEqual([]);
  });

  it('give the process up when two in a row are not acknowledged', async () => {
    const stuck: string[] = [];
    out.fixture.faults.receipts.delivered = false;
    out.fixture.faults.dropAcks(2);
    const sender = channel({ deadlineMs: 1_000, stuck: (why) => stuck.push(why) });
    await deliver(await queue(chat, 'hello?'), sender);
    out.fixture.faults.receipts.delivered = true;
    expect(stuck).toEqual(['2 messages in a row were not acknowledged on an open connection']);
  });

  it('are not sent again after a crash between the ack and the outbox row, because a receipt proves that they arrived', async () => {
    const id = await queue(chat, 'crash');
    out.fixture.faults.dropAcks(1);
    out.fixture.faults.holdReceipts(true);
    await expect(channel({ deadlineMs: 200 }).send((await findOutgoing(db(), id))!, signal)).rejects.toBeInstanceOf(
      ChannelAway,
    );
    out.fixture.faults.holdReceipts(false);
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
    expect(out.fixture.ledger.timesSeen(messageIdOf(id, 0))).toBe(1);
  });

  it('are cut at natural places, in order, without losing a word', async () => {
    const body = Array.from({ length: 60 }, (_, index) => `Paragraph ${index}: ${'some words here. '.repeat(8)}`).join(
      '\n\n',
    );
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
    const before = out.fixture.media.uploads.length;
    out.fixture.faults.receipts.delivered = false;
    out.fixture.faults.dropAcks(2);
    await deliver(id, channel({ deadlineMs: 300 }));
    out.fixture.faults.receipts.delivered = true;
    const shown = await shownTo(bob, id);
    expect(shown).toMatchObject({
      kind: 'document',
      media: { fileName: 'answer.txt', mimetype: 'text/plain', error: null },
    });
    expect(shown.media?.bytes?.toString()).toBe(body);
    expect(shown.shown.text).toMatch(/^line 0\nline 1/);
    await until('it was on the wire three times', () => shown.times === 3, 5_000);
    expect(out.fixture.media.uploads.length - before).toBe(1);
  });

  it('are text when their file cannot be uploaded', async () => {
    const id = await queue(chat, 'word '.repeat(6000));
    out.fixture.faults.failUploads(5);
    await deliver(id, channel(), 10);
    expect((await shownTo(bob, id)).kind).toBe('text');
    expect((await sendsOf(db(), id)).length).toBeGreaterThan(5);
  });

  it('bring the pictures of their own thread, and nothing of another one', async () => {
    const other = await chatAt('other@lid');
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
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

  it('upload each of several files once, also when the last of them fails at first and another process goes on', async () => {
    const file = (n: number) => Buffer.from(`file number ${n}`);
    const rows = [1, 2, 3].map((n) => {
      const data = file(n);
      const about = {
        kind: 'document' as const,
        mime: 'text/plain',
        name: `${n}.txt`,
        size: data.length,
        sha256: '',
        data,
        text: null,
      };
      return { id: `att_${n}`, thread_id: chat.threadId, ...about };
    });
    await db()
      .insertInto('attachments')
      .values(rows as never)
      .execute();
    const id = await queue(chat, 'Here:\n\n![1](attachment:att_1)\n\n![2](attachment:att_2)\n\n![3](attachment:att_3)');
    const { uploads } = out.fixture.media;
    const before = uploads.length;
    let failures = 0;
    const { waUploadToServer } = out.live.sock;
    out.live.sock.waUploadToServer = async (...args) => {
      if (uploads.length - before === 2 && failures < 2) {
        failures += 1;
        throw new Error('the upload was cut off');
      }
      return await waUploadToServer(...args);
    };
    try {
      // each attempt in a sender that knows nothing of the one before
      for (let left = 3; failures < 2 && left > 0; left -= 1)
        await channel()
          .send((await findOutgoing(db(), id))!, signal)
          .catch(() => {});
      await deliver(id, channel());
      expect(await db().selectFrom('wa_uploads').selectAll().execute()).toEqual([]);
    } finally {
      out.live.sock.waUploadToServer = waUploadToServer;
    }
    for (const n of [1, 2, 3])
      expect((await shownTo(bob, id, n)).media).toMatchObject({ fileName: `${n}.txt`, error: null, bytes: file(n) });
    expect([failures, uploads.length - before]).toEqual([2, 3]);
  });

  it('quote the message that they answer, once', async () => {
    const turnId = await turnOf(chat);
    const asked = await bob.send('What is 1+1?');
    const received = await out.client.message(asked.id);
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

  it('disappear when the messages of their chat do: every part, files, polls and edits, until that is turned off', async () => {
    const { proto } = await import('@whiskeysockets/baileys');
    const since = (ms: number) => new Date(1_790_000_000_000 + ms);
    const expirations = async (id: string) =>
      (await sendsOf(db(), id)).map(({ content }) => {
        const message = proto.Message.decode(content);
        const part = message.protocolMessage?.editedMessage ?? message;
        const kinds = [part.extendedTextMessage, part.documentMessage, part.pollCreationMessageV3];
        return kinds.find(Boolean)?.contextInfo?.expiration ?? null;
      });
    const sent = async (...[body, fields]: [string, Parameters<typeof queue>[2]?]) => {
      const id = await queue(chat, body, fields);
      await deliver(id);
      return await expirations(id);
    };
    expect(await sent('nothing is known yet')).toEqual([null]);
    await learnTimer(db(), ACCOUNT, chat.jid, { seconds: 86_400, since: since(1) });
    // what was said before does not count
    await learnTimer(db(), ACCOUNT, chat.jid, { seconds: 0, since: since(0) });
    expect(await sent('two days later, by a schedule')).toEqual([86_400]);
    expect(await sent('word '.repeat(2000))).toEqual([86_400, 86_400, 86_400]);
    expect(await sent('line\n'.repeat(6_000))).toEqual([86_400]);
    const turnId = await turnOf(chat, 'in_progress');
    expect(await sent('step 1', { kind: 'progress', turnId })).toEqual([86_400]);
    expect(await sent('step 2', { kind: 'progress', turnId })).toEqual([86_400]);
    await learnTimer(db(), ACCOUNT, chat.jid, { seconds: 0, since: since(2) });
    expect(await sent('kept again')).toEqual([null]);
  });

  it('reach the own phone in the chat with oneself', async () => {
    const id = await queue(await chatAt(out.fixture.account.lid), 'note to self');
    await deliver(id);
    const shown = await until('the phone shows it', () => out.fixture.phone.message(messageIdOf(id, 0)), 5_000);
    expect(shown).toMatchObject({ chat: out.fixture.account.lid, by: 'client', shown: { text: 'note to self' } });
  });

  it('that waited go out in order, each once, and say how old they are', async () => {
    const ids = [
      await queue(chat, 'first', { ageMs: 5 * HOUR }),
      await queue(chat, 'second', { ageMs: 2 * HOUR }),
      await queue(chat, 'third'),
    ];
    closed();
    await expect(channel().send((await findOutgoing(db(), ids[0]!))!, signal)).rejects.toMatchObject({
      name: 'ChannelAway',
      retryAfterMs: 1000,
    });
    await reconnect();
    for (const id of ids) await deliver(id);
    await shownTo(bob, ids[2]!);
    expect(bob.screen()).toEqual([
      '(written 5 h ago, while WhatsApp was away)\n\nfirst',
      '(written 2 h ago, while WhatsApp was away)\n\nsecond',
      'third',
    ]);
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
