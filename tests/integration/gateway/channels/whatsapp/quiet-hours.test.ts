import { afterAll, beforeAll, expect, it } from 'vitest';
import { script } from '../../../../support/app.ts';
import { until } from '../../../../support/until.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../../../support/whatsapp-app.ts';

let world: WhatsAppApp;
let ann: Contact;
beforeAll(async () => {
  world = await startWhatsAppApp((fixture) => {
    ann = fixture.contact('Ann');
    return { WHATSAPP_NUMBER: 'dedicated', OWNER_PHONE_NUMBER: ann.pn.split('@')[0]! };
  });
}, 120_000);
afterAll(() => world?.close());

const clock = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
const hears = (text: string) =>
  until(`Ann is told ${text}`, () => ann.received.find((each) => each.shown.text.includes(text)), 90_000);
const heard = (text: string) => ann.received.filter((each) => each.shown.text.includes(text)).length;
const resultOf = (name: string) =>
  until(`"${name}" has a result`, () =>
    world.app.store.db
      .selectFrom('outbox')
      .selectAll()
      .where('kind', '=', 'result')
      .where('body', 'like', `${name}%`)
      .executeTakeFirst(),
  );
const asks = async (steps: unknown[], end: string) => {
  await ann.send(script([{ call: steps }, { say: end }]));
  await hears(end);
};

it('quiet hours hold a result back until they end, over kills, while a failure and an answer are told at once', async () => {
  await asks([['preferences', { quietHours: `${clock(-1)}-${clock(2)}` }]], 'quiet now');
  await asks(
    [
      ['workflow_create', { name: 'good', steps: ['workflow_list'] }],
      ['workflow_create', { name: 'bad', steps: [{ tool: 'read_output', args: { callId: 'none' } }] }],
    ],
    'made',
  );
  await asks(
    [
      ['workflow_run', { workflow: 'good' }],
      ['workflow_run', { workflow: 'bad' }],
    ],
    'both run',
  );
  await hears('bad did not work');
  const held = await until('the result of the good one is held back', async () => {
    const row = await resultOf('good');
    return row.not_before !== null && row;
  });
  expect(held.state).toBe('queued');
  await ann.send('status');
  expect((await hears('Quiet hours: 1 message waits until')).shown.text).toContain('(UTC)');
  world.app.kill('gateway');
  expect(heard('good:')).toBe(0);
  // the hours end
  await world.app.store.db.updateTable('chats').set({ preferences: '{}' }).execute();
  await world.app.store.db
    .updateTable('outbox')
    .set({ not_before: new Date(Date.now() - 1000) })
    .where('id', '=', held.id)
    .execute();
  await hears('good:');
  await until('it counts as sent', async () => (await resultOf('good')).state === 'sent');
  expect(heard('good:')).toBe(1);
}, 240_000);
