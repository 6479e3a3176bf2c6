import { vi } from 'vitest';
import { pairedClient, type TestClient } from './client.ts';
import type { Contact } from './contact.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from './fixture.ts';
import { type Talk, talk } from './talk.ts';

/** A WhatsApp server with a client of the library that is paired with it, and somebody who writes. */
export interface PairedFixture {
  fixture: WhatsAppFixture;
  client: TestClient;
  t: Talk;
  bob: Contact;
  close(): Promise<void>;
}

export async function startPairedFixture(): Promise<PairedFixture> {
  // the library's libsignal prints whole sessions
  for (const level of ['info', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {});
  const fixture = await startWhatsAppFixture();
  const bob = fixture.contact('Bob');
  const client = await pairedClient(fixture);
  return {
    ...{ fixture, client, bob, t: talk(client) },
    async close() {
      vi.restoreAllMocks();
      client.stop();
      await fixture.close();
    },
  };
}
