import { startLibrary } from '../chaos/whatsapp-library.ts';
import { until } from '../support/until.ts';
import type { Contact } from '../support/whatsapp/contact.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import { startWhatsAppApp } from '../support/whatsapp-app.ts';
import type { Part } from './bench.ts';
import { type Row, round } from './figures.ts';

/** Enough that nothing waits for one session, few enough that sessions are not what is measured. */
const WRITERS = 20;

/**
 * A burst of messages from strangers, who cost a row and nothing else: from the first stanza to the last receipt, which
 * leaves when the message is stored.
 */
export const whatsappInbound: Part = {
  name: 'whatsapp-inbound',
  title: 'WhatsApp, inbound: a burst until its last receipt (fixture and client are two processes)',
  async run({ pick }) {
    const messages = pick(200, 2_000, 10_000);
    const rows: Row[] = [];
    const world = await startWhatsAppApp({ WHATSAPP_NUMBER: 'dedicated' });
    try {
      rows.push({
        client: 'Fetch: ratchet and inbox row in one transaction',
        ...(await burst(world.fixture, messages)),
      });
      const { db } = world.app.store;
      const stored = await db
        .selectFrom('wa_inbox')
        .select((e) => e.fn.countAll<string>().as('rows'))
        .executeTakeFirstOrThrow();
      rows[0]!['rows stored'] = Number(stored.rows) - WRITERS;
    } finally {
      await world.close();
    }
    const fixture = await startWhatsAppFixture();
    const library = await startLibrary(fixture, true);
    try {
      rows.push({
        client: "the library's default: files, event handler that does nothing",
        ...(await burst(fixture, messages)),
        'rows stored': 0,
      });
    } finally {
      await library.close();
      await fixture.close();
    }
    return rows;
  },
};

async function burst(fixture: WhatsAppFixture, messages: number): Promise<Row> {
  const writers: Contact[] = Array.from({ length: WRITERS }, (_, at) => fixture.contact(`writer ${at}`));
  for (const each of writers) await each.send('hello');
  await until('everybody has a session', () => fixture.queue.length === 0, 30_000);
  fixture.faults.holdInbound(true);
  for (let at = 0; at < messages; at++) await writers[at % WRITERS]!.send(`message ${at} of a burst`);
  const begun = performance.now();
  fixture.faults.holdInbound(false);
  await until('every receipt is there', () => fixture.queue.length === 0, 600_000);
  const seconds = (performance.now() - begun) / 1000;
  return { messages, seconds: round(seconds, 1), 'messages/s': round(messages / seconds, 0) };
}
