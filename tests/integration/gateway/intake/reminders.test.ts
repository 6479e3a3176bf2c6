import { afterAll, beforeAll, expect, it } from 'vitest';
import { remindersOf } from '../../../../src/store/routines/reminders.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { until } from '../../../support/until.ts';

/** `remind me …`: stored, said once, whatever ends meanwhile. */

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ FETCH_TIME_ZONE: 'Europe/Berlin' });
});
afterAll(() => app?.close());

const shown = async (thread: string): Promise<string[]> =>
  (await app.detail(thread)).items.filter((item) => item.kind === 'agent_message').map((item) => item.detail ?? '');

async function told(thread: string, text: string): Promise<string> {
  expect((await app.say(thread, text)).kind, text).toBe('reply');
  return (await shown(thread)).at(-1)!;
}

const chatOf = async (thread: string): Promise<string> =>
  (await app.store.db.selectFrom('threads').select('chat_id').where('id', '=', thread).executeTakeFirstOrThrow())
    .chat_id;
const waiting = async (thread: string) => await remindersOf(app.store.db, await chatOf(thread));
const saidOf = async (thread: string): Promise<string[]> =>
  (await shown(thread)).filter((text) => text.startsWith('⏰'));
const isSaid = (thread: string, what: string, ms = 30_000) =>
  until(`"${what}" is said`, async () => (await saidOf(thread)).some((text) => text.includes(what)), ms);

it('a reminder says when it will come, is listed, and is said once', async () => {
  const thread = await app.thread();
  expect(await told(thread, 'remind me to stretch in 3 seconds')).toMatch(
    /^I will remind you (?:on \w{3} \d+ \w{3,4} )?at \d\d:\d\d: stretch$/,
  );
  expect(await told(thread, 'schedules')).toMatch(/^1\. reminder: stretch, .*\n`schedules remove 1`/);
  await isSaid(thread, 'stretch');
  await until('it was sent', async () => {
    const row = await app.store.db
      .selectFrom('outbox')
      .selectAll()
      .where('body', '=', '⏰ Reminder: stretch')
      .executeTakeFirst();
    return row?.state === 'sent';
  });
  expect(await told(thread, 'reminders')).toContain('Nothing runs by itself');
  expect(app.model.requests()).toEqual([]);
});

it('what was removed is not said', async () => {
  const thread = await app.thread();
  await told(thread, 'remind me to be silent in 3 seconds');
  await told(thread, 'remind me in 4 seconds to speak');
  expect(await told(thread, 'schedules remove 1')).toContain('I will not remind you of this: be silent');
  expect(await told(thread, 'schedules')).toMatch(/^1\. reminder: speak, /);
  await isSaid(thread, 'speak');
  expect(await saidOf(thread)).toEqual(['⏰ Reminder: speak']);
});

it('a message that says no time, no future or nothing to say gets a sentence with examples, and a schedule is for the model', async () => {
  const thread = await app.thread();
  expect(await told(thread, 'remind me in 5 minutes')).toMatch(
    /^What shall I remind you of\? Say for example `remind me to/,
  );
  expect(await told(thread, 'remind me to stretch')).toMatch(/^I did not find a time[\s\S]*\(Europe\/Berlin\)/);
  expect(await told(thread, 'remind me to stretch yesterday')).toMatch(/^That time is over/);
  for (const text of ['remind me how this works', 'remind me every day at 9 to stretch']) {
    const { kind, turn_id } = await app.say(thread, text);
    expect(kind).toBe('turn');
    await app.ended(thread, turn_id!);
  }
  expect(await waiting(thread)).toEqual([]);
});

it('defect 12: everything that runs may be killed between a reminder and its time', async () => {
  const thread = await app.thread();
  await told(thread, 'remind me to drink in 8 seconds');
  await told(thread, 'remind me to breathe in one second');
  app.kill('supervisor');
  await app.start();
  await isSaid(thread, 'breathe');
  await isSaid(thread, 'drink');
  expect((await saidOf(thread)).map((text) => text.replace(/ \(it was due.*/, '')).sort()).toEqual([
    '⏰ Reminder: breathe',
    '⏰ Reminder: drink',
  ]);
  expect(await waiting(thread)).toEqual([]);
}, 120_000);

it('one whose start was lost is started by the comparison of both stores', async () => {
  const thread = await app.thread();
  await app.store.db
    .insertInto('reminders')
    .values({
      id: 'rem_lost',
      chat_id: await chatOf(thread),
      what: 'look',
      sources: '[]',
      due_at: new Date(Date.now() - 120_000),
      created_at: new Date(Date.now() - 600_000),
    })
    .execute();
  await isSaid(thread, 'look', 90_000);
  expect((await saidOf(thread))[0]).toMatch(/^⏰ Reminder: look \(it was due on .*\(Europe\/Berlin\)\)$/);
}, 120_000);
