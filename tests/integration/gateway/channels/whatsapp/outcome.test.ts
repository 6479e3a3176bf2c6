import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messageIdOf } from '../../../../../src/gateway/channels/whatsapp/outbound/parts.ts';
import { getMessage } from '../../../../../src/gateway/channels/whatsapp/outbound/receipts.ts';
import { findOutgoing } from '../../../../../src/store/chats/messages/outbox.ts';
import { wish } from '../../../../../src/store/whatsapp/account.ts';
import { chatPause, sendPause } from '../../../../../src/store/whatsapp/pause.ts';
import { deliveryFigures, sendsOf } from '../../../../../src/store/whatsapp/sends.ts';
import { until } from '../../../../support/until.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import { ACCOUNT, type Chat, HOUR, outgoing, signal } from '../../../../support/whatsapp/outgoing.ts';
import { el } from '../../../../support/whatsapp/stanza.ts';

/** What became of a message to WhatsApp: refused, delivered, read, asked for again. */

const out = outgoing();
const { db, opened, closed, reconnect, channel, chatAt, chatWith, queue, deliver, shownTo, stateOf, outboxState } = out;

describe('a refusal of WhatsApp', () => {
  let eve: Contact;
  let chat: Chat;
  beforeAll(async () => {
    eve = out.fixture.contact('Eve');
    chat = await chatWith(eve);
    await db()
      .insertInto('chats')
      .values({
        id: 'console/terminal',
        channel: 'console',
        address: 'terminal',
        workflow_id: 'chat/console/terminal',
      } as never)
      .execute();
  });
  beforeEach(() => opened());
  afterEach(async () => {
    closed();
    await wish(db(), ACCOUNT, { wanted: 'on' });
  });

  it('(463) fails the message, leaves that chat alone for an hour and no other, and is told on the terminal', async () => {
    const id = await queue(chat, 'cold');
    out.fixture.faults.ackError(463);
    await deliver(id);
    expect(await outboxState(id)).toMatchObject({ state: 'failed', error: expect.stringContaining('463') });
    expect(await sendsOf(db(), id)).toMatchObject([{ state: 'failed', attempts: 1 }]);
    const next = await queue(chat, 'warm');
    await expect(channel().send((await findOutgoing(db(), next))!, signal)).rejects.toMatchObject({
      name: 'ChannelAway',
      message: expect.stringContaining('463'),
    });
    expect((await outboxState(next)).state).toBe('queued');
    const told = await db()
      .selectFrom('outbox')
      .select('body')
      .where('chat_id', '=', 'console/terminal')
      .where('id', 'like', '%send-463%')
      .execute();
    expect(told).toHaveLength(1);
    const ivy = out.fixture.contact('Ivy');
    const other = await queue(await chatWith(ivy), 'to somebody else');
    await deliver(other);
    expect((await shownTo(ivy, other)).shown.text).toBe('to somebody else');
    expect(await sendPause(db(), ACCOUNT)).toBeNull();
    await wish(db(), ACCOUNT, { wanted: 'on' });
    await deliver(next);
    expect((await shownTo(eve, next)).shown.text).toBe('warm');
    expect(out.fixture.ledger.timesSeen(messageIdOf(id, 0))).toBe(1);
  });

  it('(463) of three chats within an hour stops everything for an hour', async () => {
    for (const name of ['Kim', 'Lou', 'Max']) {
      expect(await sendPause(db(), ACCOUNT)).toBeNull();
      const id = await queue(await chatWith(out.fixture.contact(name)), 'cold');
      out.fixture.faults.ackError(463);
      await deliver(id);
    }
    expect((await sendPause(db(), ACCOUNT))?.until.getTime()).toBeGreaterThan(Date.now() + 0.9 * HOUR);
  });

  it('(479) is answered with a fresh list of devices and the same id', async () => {
    const id = await queue(chat, 'stale');
    out.fixture.faults.ackError(479);
    await deliver(id);
    expect((await shownTo(eve, id)).shown.text).toBe('stale');
    expect(out.fixture.ledger.timesSeen(messageIdOf(id, 0))).toBe(2);
    await until('it is delivered', async () => (await stateOf(id))[0] === 'delivered', 5_000);
  });

  it.each([402, 403, 406])(
    '(%d) keeps the message and stops its chat alone, until a person asks again',
    async (code) => {
      const id = await queue(chat, `blocked ${code}`);
      out.fixture.faults.ackError(code);
      const tries = async () => channel().send((await findOutgoing(db(), id))!, signal);
      for (let attempt = 0; attempt < 2; attempt++)
        await expect(tries()).rejects.toMatchObject({ name: 'ChannelAway', retryAfterMs: 5_000 });
      expect(await stateOf(id)).toEqual(['queued']);
      expect(await sendPause(db(), ACCOUNT)).toBeNull();
      const other = out.fixture.contact('Oda');
      const next = await queue(await chatWith(other), 'to another chat');
      await deliver(next);
      expect((await shownTo(other, next)).shown.text).toBe('to another chat');
      await wish(db(), ACCOUNT, { wanted: 'on' });
      await deliver(id);
      expect((await shownTo(eve, id)).shown.text).toBe(`blocked ${code}`);
    },
  );

  it('(403) of many groups stops no other chat, and each goes on when its group changes', async () => {
    const stop = out.groups.onOpen(out.live) as () => void;
    const member = out.fixture.contact('Pia');
    const group = out.fixture.group('Closed', [member]);
    const chats = [await chatAt(group.jid)];
    for (const name of ['A', 'B', 'C']) chats.push(await chatAt(out.fixture.group(name, [member]).jid));
    const waiting: string[] = [];
    for (const each of chats) {
      const id = await queue(each, 'to a group');
      out.fixture.faults.ackError(403);
      await expect(channel().send((await findOutgoing(db(), id))!, signal)).rejects.toMatchObject({
        message: expect.stringContaining('other chats go on'),
      });
      waiting.push(id);
    }
    expect(await sendPause(db(), ACCOUNT)).toBeNull();
    group.rename('Open');
    await until('its pause is over', async () => !(await chatPause(db(), ACCOUNT, group.jid)), 10_000);
    await deliver(waiting[0]!);
    expect((await shownTo(member, waiting[0]!)).shown.text).toBe('to a group');
    expect(await chatPause(db(), ACCOUNT, chats[1]!.jid)).not.toBeNull();
    await wish(db(), ACCOUNT, { wanted: 'on' });
    stop();
  });

  it('with a code that nobody knows is tried again, then given up, so that the chat goes on', async () => {
    const id = await queue(chat, 'odd');
    out.fixture.faults.ackError(499, 4);
    await deliver(id, channel(), 6);
    expect(await outboxState(id)).toMatchObject({ state: 'failed', error: expect.stringContaining('499') });
    expect(await sendPause(db(), ACCOUNT)).toBeNull();
  });
});

describe('what becomes of a message', () => {
  let cat: Contact;
  let chat: Chat;
  beforeAll(async () => {
    cat = out.fixture.contact('Cat');
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
    expect(out.fixture.ledger.undecryptable).toEqual([]);
  });

  it('is not told to anybody else who asks for it', async () => {
    const id = await queue(chat, 'a secret');
    await deliver(id);
    const { id: messageId } = await shownTo(cat, id);
    await reconnect();
    const ask = getMessage(out.deps);
    expect(await ask({ remoteJid: cat.lid, fromMe: true, id: messageId })).toBeDefined();
    expect(await ask({ remoteJid: cat.pn, fromMe: true, id: messageId })).toBeDefined();
    const mallory = out.fixture.contact('Mallory');
    expect(await ask({ remoteJid: mallory.lid, fromMe: true, id: messageId })).toBeUndefined();
    const seen = out.fixture.ledger.timesSeen(messageId);
    out.fixture.inject(
      el('receipt', { id: messageId, type: 'retry', from: mallory.lid, t: 1 }, [
        el('retry', { count: 1, id: messageId, t: 1, v: 1 }),
        el('registration', {}, Buffer.alloc(4)),
      ]),
    );
    await until('the receipt was taken', () => out.fixture.queue.length === 0, 5_000);
    expect(out.fixture.ledger.timesSeen(messageId)).toBe(seen);
  });
});
