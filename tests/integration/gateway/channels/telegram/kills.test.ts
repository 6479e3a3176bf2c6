import { afterAll, beforeAll, expect, it } from 'vitest';
import { script, startTestApp, type TestApp } from '../../../../support/app.ts';
import { type Person, person, TelegramServer } from '../../../../support/telegram/server.ts';
import { until } from '../../../../support/until.ts';

/** A whole instance with a bot on a local Bot API. */

let server: TelegramServer;
let app: TestApp;
const ana = person(300_001, 'Ana');

beforeAll(async () => {
  server = await TelegramServer.start();
  app = await startTestApp(server.env);
}, 120_000);
afterAll(async () => {
  await app?.close();
  await server?.close();
});

/** Says a command in a thread of the API, and returns the code in the link of its reply. */
async function codeFrom(words: string): Promise<string> {
  const bot = () => app.store.db.selectFrom('tg_bots').select('id').where('username', '!=', '').executeTakeFirst();
  await until('the bot is known', bot);
  const thread = await app.thread();
  await app.say(thread, words);
  const link = /https:\/\/t\.me\/fetch_test_bot\?start=([\w-]+)/;
  return await until('the link is shown', async () => link.exec(JSON.stringify(await app.detail(thread)))?.[1]);
}

it('answers a person who opened the link, and asks with buttons', async () => {
  server.writes(ana, `/start ${await codeFrom('telegram')}`);
  await server.sees(ana.id, 'your own chat');
  server.writes(ana, script([{ say: 'hello from **the model**' }]));
  const answer = await server.sees(ana.id, 'hello from the model');
  expect(answer.entities).toContainEqual({ type: 'bold', offset: 11, length: 9 });
  const asks = { call: [['ask_user', { question: 'Which colour?', options: ['red', 'green'] }]] };
  server.writes(ana, script([asks, { say: 'so $LAST' }]));
  const question = await server.sees(ana.id, 'Which colour?');
  server.presses(ana, question, 'green');
  await server.sees(ana.id, /so .*green/);
  await until('the buttons are gone', () => question.buttons.length === 0);
});

it('answers each message once while its gateway is killed again and again', { timeout: 1_200_000 }, async () => {
  const people: Person[] = [1, 2, 3, 4, 5].map((n) => person(400_000 + n, `Person ${n}`));
  for (const each of people) {
    server.writes(each, `/start ${await codeFrom('trust add telegram')}`);
    await server.sees(each.id, 'You may write to me');
  }
  // its long form: 150 messages, 30 kills
  const rounds = process.env.FETCH_TEST_SOAK === undefined ? 6 : 30;
  for (let round = 1; round <= rounds; round++) {
    for (const each of people) {
      server.writes(each, script([{ say: `answer ${round} for ${each.id}` }]));
      // kills come before, while and after answers are sent
      if (each === people[round % people.length]) app.kill('gateway');
    }
    for (const each of people) await server.sees(each.id, `answer ${round} for ${each.id}`);
    await app.whenReady();
  }
  for (const each of people)
    for (let round = 1; round <= rounds; round++) {
      const text = `answer ${round} for ${each.id}`;
      const copies = server.textsIn(each.id).filter((shown) => shown === text).length;
      const reports = server.textsIn(each.id).filter((shown) => shown.includes(`began: “${text}”`)).length;
      expect({ text, copies, told: copies + reports > 0 && copies <= 1 && reports <= 1 }).toMatchObject({ told: true });
    }
});
