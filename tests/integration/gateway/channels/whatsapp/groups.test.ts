import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { messageIdOf } from '../../../../../src/gateway/channels/whatsapp/outbound/parts.ts';
import { findOutgoing } from '../../../../../src/store/chats/messages/outbox.ts';
import { until } from '../../../../support/until.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import { type Chat, outgoing, signal } from '../../../../support/whatsapp/outgoing.ts';

/** Messages to groups. */

const out = outgoing();
const { db, opened, closed, reconnect, channel, chatAt, queue, deliver, shownTo, outboxState } = out;

describe('the keys of a group', () => {
  let members: [Contact, Contact];
  let chat: Chat;
  beforeEach(async () => {
    opened();
    members = [out.fixture.contact('Ida'), out.fixture.contact('Jon')];
    chat = await chatAt(out.fixture.group('Keys', members).jid);
    out.fixture.ledger.entries.length = 0;
  });
  afterEach(() => closed());

  const readBy = async (id: string, text: string) => {
    for (const each of members) expect((await shownTo(each, id)).shown.text).toBe(text);
    expect(out.fixture.ledger.undecryptable).toEqual([]);
  };
  /** Lets an attempt die as a kill does: its stanza is never read, and the next connection knows what was stored. */
  async function loseAttempt(id: string): Promise<void> {
    out.fixture.faults.loseMessages(1);
    const lost = expect(channel().send((await findOutgoing(db(), id))!, signal)).rejects.toMatchObject({
      name: 'ChannelAway',
    });
    await until('the connection broke', () => !out.client.open, 10_000);
    closed();
    await lost;
    const remembered = await out.client.auth.state.keys.get('sender-key-memory', [chat.jid]);
    expect(Object.keys(remembered[chat.jid] ?? {})).not.toEqual([]);
    await reconnect();
  }

  it('go out again with a message whose first attempt died', async () => {
    const id = await queue(chat, 'twice');
    await loseAttempt(id);
    await deliver(id);
    await readBy(id, 'twice');
    expect(out.fixture.ledger.timesSeen(messageIdOf(id, 0))).toBe(1);
  });

  it('go out with the next message when the one that carried them is not wanted any more', async () => {
    const id = await queue(chat, 'outdated');
    await loseAttempt(id);
    await db().updateTable('outbox').set({ state: 'dropped' }).where('id', '=', id).execute();
    const next = await queue(chat, 'up to date');
    await deliver(next);
    await readBy(next, 'up to date');
    const [one] = members;
    expect(one.screen()).toEqual(['up to date']);
  });

  it('go out again after a refusal, at once where a fresh list of devices is asked for', async () => {
    const id = await queue(chat, 'refused first');
    out.fixture.faults.ackError(479);
    await deliver(id);
    await readBy(id, 'refused first');
    const failed = await queue(chat, 'never taken');
    out.fixture.faults.ackError(499, 4);
    await deliver(failed, channel(), 6);
    expect((await outboxState(failed)).state).toBe('failed');
    const next = await queue(chat, 'the next one');
    await deliver(next);
    await readBy(next, 'the next one');
  });

  it('are replaced when somebody has left, who could read on with the old ones', async () => {
    const stop = out.groups.onOpen(out.live) as () => void;
    const sender = channel({ groupOf: out.groups.cachedGroupMetadata });
    const group = out.fixture.group('Leavers', members);
    const here = await chatAt(group.jid);
    const say = async (text: string) => {
      const id = await queue(here, text);
      await deliver(id, sender);
      expect((await shownTo(members[0], id)).shown.text).toBe(text);
      const { account } = out.fixture;
      const name = `${group.jid}::${account.lid.split('@')[0]}_1::${out.client.auth.state.creds.me!.id.match(/:(\d+)@/)![1]}`;
      const stored = await out.client.auth.state.keys.get('sender-key', [name]);
      return JSON.stringify(stored[name]);
    };
    await say('all of us');
    const before = await say('still all of us');
    const given = () => out.fixture.ledger.messages.at(-1)!.participants.length;
    expect(given()).toBe(0);
    group.remove(members[1]);
    await until(
      'the change is stored',
      async () =>
        (
          await db().selectFrom('wa_groups').select('fetched_at').where('jid', '=', group.jid).executeTakeFirst()
        )?.fetched_at.getTime() === 0,
      5_000,
    );
    expect(await say('without Jon')).not.toBe(before);
    expect(given()).toBeGreaterThan(0);
    await say('and on');
    expect(given()).toBe(0);
    stop();
    expect(out.fixture.ledger.undecryptable).toEqual([]);
  });

  it('are not given again while messages arrive', async () => {
    const distributed = () => out.fixture.ledger.messages.map(({ participants }) => participants.length);
    for (const text of ['one', 'two', 'three']) {
      const id = await queue(chat, text);
      await deliver(id);
      await readBy(id, text);
    }
    expect(distributed()).toEqual([expect.any(Number), 0, 0]);
    expect(distributed()[0]).toBeGreaterThan(1);
  });
});

describe('a group', () => {
  beforeEach(() => opened());
  afterEach(() => closed());

  it('is asked for its members once, and again after they changed', async () => {
    const [one, two, three] = ['One', 'Two', 'Three'].map((name) => out.fixture.contact(name)) as [
      Contact,
      Contact,
      Contact,
    ];
    const group = out.fixture.group('Team', [one, two]);
    const chat = await chatAt(group.jid);
    const asked = () =>
      out.fixture.ledger.iqs.filter(({ stanza }) => stanza.attrs.xmlns === 'w:g2' && stanza.attrs.to === group.jid)
        .length;
    const stop = out.groups.onOpen(out.live) as () => void;
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
    await until('the change was heard', () => out.fixture.queue.length === 0, 5_000);
    await until(
      'the change is stored',
      async () =>
        (
          await db().selectFrom('wa_groups').select('fetched_at').where('jid', '=', group.jid).executeTakeFirst()
        )?.fetched_at.getTime() === 0,
      5_000,
    );
    expect((await shownTo(three, await say('welcome'))).shown.text).toBe('welcome');
    out.fixture.faults.failIq('w:g2', 429, 5);
    await shownTo(three, await say('still here'));
    stop();
    expect(out.fixture.ledger.undecryptable).toEqual([]);
  });
});
