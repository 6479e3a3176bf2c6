import { proto } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../../../support/until.ts';
import type { TestClient } from '../../../../support/whatsapp/client.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import type { WhatsAppFixture } from '../../../../support/whatsapp/fixture.ts';
import { type PairedFixture, startPairedFixture } from '../../../../support/whatsapp/paired-fixture.ts';
import { type Talk, textOf } from '../../../../support/whatsapp/talk.ts';

let fixture: WhatsAppFixture;
let client: TestClient;
let t: Talk;
let bob: Contact;

let paired: PairedFixture;

beforeAll(async () => {
  paired = await startPairedFixture();
  ({ fixture, client, bob, t } = paired);
});
afterAll(() => paired?.close());

describe('groups', () => {
  it('carries messages in and out by sender keys, with mentions, and tells who joins', async () => {
    const dora = fixture.contact('Dora');
    const eve = fixture.contact('Eve');
    const group = fixture.group('Builders', [bob, dora]);
    const metadata = await client.sock.groupMetadata(group.jid);
    expect(metadata.participants.map(({ id }) => id).sort()).toEqual([bob.lid, dora.lid, fixture.account.lid].sort());
    const { id } = await group.send(dora, { text: '@bot hello', mentions: [group.me] });
    const first = await client.message(id);
    expect(first.key).toMatchObject({ remoteJid: group.jid, participant: dora.lid, participantAlt: dora.pn });
    expect(first.message?.extendedTextMessage?.contextInfo?.mentionedJid).toEqual([fixture.account.lid]);
    const { id: second } = await group.send(dora, 'once more');
    expect(textOf(await client.message(second))).toBe('once more');

    const sent = [await t.say(group.jid, { text: 'hello all' }), await t.say(group.jid, { text: 'still here' })];
    for (const { key } of sent)
      for (const member of [bob, dora]) expect((await t.arrived(member, key.id!)).chat).toBe(group.jid);
    const wire = fixture.ledger.messages.filter(({ id: seen }) => seen === sent[1]!.key.id);
    expect(wire.map(({ participants }) => participants)).toEqual([[]]);
    await dora.react(sent[0]!.key.id!, '🎉');
    const reactions = () => client.events.flatMap((events) => events['messages.reaction'] ?? []);
    await until(
      'the reaction',
      () => reactions().some(({ key, reaction }) => key.id === sent[0]!.key.id && key.fromMe && reaction.text === '🎉'),
      5_000,
    );

    group.add(eve);
    await until(
      'the client knows',
      () => client.events.some((events) => events['group-participants.update']?.action === 'add'),
      5_000,
    );
    const { key } = await t.say(group.jid, { text: 'welcome Eve' });
    expect((await t.arrived(eve, key.id!)).text).toBe('welcome Eve');
    expect(Object.keys(await client.sock.groupFetchAllParticipating())).toEqual([group.jid]);
  });

  it('lists and writes by phone number in a group of the older kind, and shows what the owner types there', async () => {
    const gina = fixture.contact('Gina');
    const group = fixture.group('Old', [gina], { addressing: 'pn' });
    const { id } = await group.send(gina, 'by number');
    expect((await client.message(id)).key).toMatchObject({ participant: gina.pn, participantAlt: gina.lid });
    const { key } = await t.say(group.jid, { text: 'to the old group' });
    expect(await t.arrived(gina, key.id!)).toMatchObject({ text: 'to the old group', from: fixture.account.pn });
    const { id: typed } = await fixture.phone.send(group.jid, 'from the phone');
    expect((await client.message(typed)).key).toMatchObject({ remoteJid: group.jid, fromMe: true });
    expect(gina.message(typed)?.by).toBe('phone');
  });

  it('heals a group message in either direction', async () => {
    const frank = fixture.contact('Frank');
    const group = fixture.group('Menders', [bob, frank]);
    const { id } = await group.send(frank, 'broken in the group', { corrupt: true });
    await until(
      'the content',
      () => t.upserts(id).some((message) => textOf(message) === 'broken in the group'),
      10_000,
    );
    const { key } = await t.say(group.jid, { text: 'for the group' });
    await t.arrived(frank, key.id!);
    frank.requestRetry(key.id!);
    await until('it came twice', () => fixture.ledger.timesSeen(key.id!) === 2, 10_000);
  });
});

describe('hostile senders', () => {
  it('sends what no phone would: malformed protobuf, a lying host, forged history, a status', async () => {
    const mallory = fixture.contact('Mallory');
    const { id: malformed } = await mallory.send('', { rawBytes: Buffer.from([0xff, 0xff, 0xff]) });
    await until('the client asks again', () => mallory.receiptsOf(malformed).includes('retry'), 5_000);
    const { id: lying } = await mallory.send({
      image: Buffer.from('x'),
      url: 'https://169.254.169.254/latest',
      directPath: '/elsewhere',
      fileLength: 1 << 30,
    });
    expect((await client.message(lying)).message?.imageMessage).toMatchObject({
      url: 'https://169.254.169.254/latest',
      directPath: '/elsewhere',
    });
    const syncType = proto.HistorySync.HistorySyncType.RECENT;
    const forged = {
      protocolMessage: {
        type: proto.Message.ProtocolMessage.Type.HISTORY_SYNC_NOTIFICATION,
        historySyncNotification: { syncType },
      },
    };
    const { id: history } = await mallory.send({ proto: forged });
    expect((await client.message(history)).key.fromMe).toBe(false);
    const { id: status } = await mallory.send('my day', { broadcast: 'status@broadcast' });
    expect((await client.message(status)).key).toMatchObject({
      remoteJid: 'status@broadcast',
      participant: mallory.lid,
    });
  });
});

describe('a client whose keys were rolled back', () => {
  it('is asked again by every phone that cannot read it, and then they can', async () => {
    const { id } = await bob.send('hello');
    await client.message(id);
    await t.arrived(bob, (await t.say(bob.lid, { text: 'before' })).key.id!);
    const sessions = client.auth.rows.get('session')!;
    const backup = new Map(sessions);
    await t.arrived(bob, (await t.say(bob.lid, { text: 'after the backup' })).key.id!);
    for (const [address, session] of backup) sessions.set(address, session);
    const before = fixture.ledger.undecryptable.length;
    const { key } = await t.say(bob.lid, { text: 'encrypted with keys used before' });
    expect((await t.arrived(bob, key.id!)).text).toBe('encrypted with keys used before');
    await t.arrived(fixture.phone, key.id!);
    const failed = fixture.ledger.undecryptable.slice(before);
    expect(failed.map(({ to }) => to).sort()).toEqual([fixture.account.lid, bob.lid].sort());
  });
});

it('goes on with a contact who has a new phone', async () => {
  const hans = fixture.contact('Hans');
  await client.message((await hans.send('old phone')).id);
  await t.arrived(hans, (await t.say(hans.lid, { text: 'to the old phone' })).key.id!);
  hans.reinstall();
  expect(textOf(await client.message((await hans.send('new phone')).id))).toBe('new phone');
  await t.arrived(hans, (await t.say(hans.lid, { text: 'to the new phone' })).key.id!);
  hans.reinstall();
  await until('the client was told', () => fixture.queue.every(({ stanza }) => stanza.tag !== 'notification'), 5_000);
  expect((await t.arrived(hans, (await t.say(hans.lid, { text: 'to the newest phone' })).key.id!)).text).toBe(
    'to the newest phone',
  );
});
