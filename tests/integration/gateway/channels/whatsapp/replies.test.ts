import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script } from '../../../../support/app.ts';
import { until } from '../../../../support/until.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import type { Stanza } from '../../../../support/whatsapp/stanza.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../../../support/whatsapp-app.ts';

/** The whole instance: what a person sees of its replies, also while its gateway dies. */

const NAMES = ['Ann', 'Ben', 'Cleo', 'Dora', 'Emil', 'Fay'];
const KILLS = 4;

let world: WhatsAppApp;
let people: Contact[];

beforeAll(async () => {
  world = await startWhatsAppApp((fixture) => {
    people = NAMES.map((name) => fixture.contact(name));
    const numbers = people.map(({ pn }) => pn.split('@')[0]!);
    return {
      WHATSAPP_NUMBER: 'dedicated',
      OWNER_PHONE_NUMBER: numbers[0]!,
      TRUSTED_PHONE_NUMBERS: numbers.slice(1).join(','),
      WHATSAPP_TEXT_LIMIT: '400',
    };
  });
}, 120_000);
afterAll(() => world?.close());

const says = (who: Contact, text: string) =>
  until(`${who.name} is told ${text}`, () => who.received.find((each) => each.shown.text.includes(text)), 60_000);
const queued = async () =>
  (await world.app.store.db.selectFrom('outbox').select('id').where('state', '=', 'queued').execute()).length;

describe('a reply on WhatsApp', () => {
  it('comes after "typing", quotes what it answers, whose author sees that it was read', async () => {
    const [ann] = people as [Contact];
    const { id } = await ann.send(script([{ say: 'slowly '.repeat(60), pace: 30 }]));
    await until('Ann sees typing', () => ann.sees === 'composing', 20_000);
    await until('Ann sees that it was read', () => ann.receiptsOf(id).includes('read'), 20_000);
    expect((await says(ann, 'slowly')).quotedId).toBe(id);
    await until('Ann sees no typing', () => ann.sees === 'paused', 20_000);
    const again = await ann.send('status');
    const status = await says(ann, 'Today: ');
    expect(status.quotedId).toBe(again.id);
    expect(status.shown.text).not.toContain('my messages');
  });

  it('is shown once and readable when the gateway is killed while it leaves, each of its parts too', async () => {
    let kills = 0;
    world.fixture.hooks.on('stanza', (stanza: Stanza) => {
      if (stanza.tag !== 'message' || kills >= KILLS) return;
      kills++;
      world.app.kill('gateway');
    });
    const others = people.slice(1);
    const text = (name: string) =>
      Array.from({ length: 30 }, (_, index) => `${name} ${index}: these are some words of a long reply.`).join('\n\n');
    for (const each of others) await each.send(script([{ say: text(each.name) }]));
    for (const each of others) await says(each, `${each.name} 29:`);
    await until('nothing waits to be sent', async () => (await queued()) === 0, 30_000);
    expect(kills).toBe(KILLS);
    for (const each of others)
      expect(each.screen().join('\n\n').replace(/\s+/g, ' ')).toBe(text(each.name).replace(/\s+/g, ' '));
    expect(world.fixture.ledger.undecryptable).toEqual([]);
    const states = await world.app.store.db.selectFrom('wa_sends').select('state').execute();
    expect(new Set(states.map(({ state }) => state))).toEqual(new Set(['delivered']));
  });
});
