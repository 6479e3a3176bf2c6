import { readAccount, wish } from '../../src/store/whatsapp/account.ts';
import { startTestApp, type TestApp } from './app.ts';
import { until } from './until.ts';
import { type FixtureOptions, startWhatsAppFixture, type WhatsAppFixture } from './whatsapp/fixture.ts';

/** A whole instance that is linked to a local WhatsApp: scanned, logged in, its queue drained. */
export interface WhatsAppApp {
  app: TestApp;
  fixture: WhatsAppFixture;
  close(): Promise<void>;
}

export async function startWhatsAppApp(
  env: Record<string, string> | ((fixture: WhatsAppFixture) => Record<string, string>) = {},
  options: FixtureOptions = {},
): Promise<WhatsAppApp> {
  const fixture = await startWhatsAppFixture(options);
  const own = typeof env === 'function' ? env(fixture) : env;
  const app = await startTestApp({ WHATSAPP_PACE_MS: '0', ...fixture.env, ...own });
  const close = async () => {
    try {
      await app.close();
    } finally {
      await fixture.close();
    }
  };
  try {
    await wish(app.store.db, 'default', { wanted: 'on' });
    const qr = await until('a QR is shown', async () => (await readAccount(app.store.db, 'default'))?.qr, 30_000);
    await fixture.phone.scan(qr);
    await until(
      'WhatsApp is connected',
      async () => (await readAccount(app.store.db, 'default'))?.state === 'authenticated',
      30_000,
    );
    return { app, fixture, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Waits until a question that a phone shows counts as shown. A test answers within milliseconds, before WhatsApp's word
 * that the question arrived is stored; no person does.
 */
export const countsAsShown = ({ store }: TestApp, { id }: { id: string }): Promise<unknown> =>
  until('the question counts as shown', async () => {
    const waiting = await store.db
      .selectFrom('wa_sends')
      .innerJoin('questions', 'questions.id', 'wa_sends.question_id')
      .select('questions.id')
      .where('wa_sends.message_id', '=', id)
      .where('questions.delivered_at', 'is', null)
      .executeTakeFirst();
    return waiting === undefined;
  });
