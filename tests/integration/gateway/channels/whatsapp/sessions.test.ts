import { describe, expect, it } from 'vitest';
import { until } from '../../../../support/until.ts';
import type { ConnectedGateway } from '../../../../support/whatsapp/connected.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import { gatewaysOfTest } from '../../../../support/whatsapp/gateways.ts';

/** Signal sessions on a real connection: what they must survive. */

const world = gatewaysOfTest();
const { db, linked } = world;

const sendTo = async (gateway: ConnectedGateway, jid: string, text: string): Promise<void> => {
  const { sock } = await until('a connection', () => gateway.connection.live(), 10_000);
  const sent = await sock.sendMessage(jid, { text });
  await until(`the server has ${text}`, () => world.fixture.ledger.timesSeen(sent!.key.id!) > 0, 10_000);
};
const isStored = async (id: string): Promise<boolean> => {
  const rows = await db().selectFrom('wa_inbox').select(['message_id', 'content']).execute();
  return rows.some((row) => row.message_id === id && row.content !== null);
};

describe('a message that was encrypted before its author knew of a newer session', () => {
  it('leaves that session as it was: what is sent next can be read', async () => {
    const gateway = await linked();
    const [gus, hana] = ['Gus', 'Hana'].map((name) => world.fixture.contact(name)) as [Contact, Contact];
    await sendTo(gateway, world.fixture.account.lid, 'a first session with the own phone');
    const known = await world.fixture.phone.selfChat('which it uses');
    await until('its answer is stored', () => isStored(known.id), 10_000);

    world.fixture.faults.holdInbound(true);
    const late = await world.fixture.phone.selfChat('on its way');
    // the list of devices of a number is fetched, upon which Baileys starts new sessions with both, the own phone's
    // copies included
    await sendTo(gateway, hana.pn, 'a second session');
    world.fixture.faults.holdInbound(false);
    await until('the late one is stored', () => isStored(late.id), 10_000);

    await sendTo(gateway, gus.pn, 'a third one');
    await sendTo(gateway, hana.pn, 'still in the second or third');
    await sendTo(gateway, world.fixture.account.lid, 'and to oneself');
    expect(world.fixture.ledger.undecryptable).toEqual([]);
    expect(world.fixture.ledger.complaints).toEqual([]);
  });
});
