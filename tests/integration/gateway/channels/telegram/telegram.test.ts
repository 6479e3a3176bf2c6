import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../../../../src/config.ts';
import { outboxId } from '../../../../../src/contracts/ids.ts';
import type { ChannelSender, Gateway, RunningChannel } from '../../../../../src/gateway/channels/channel.ts';
import { telegram } from '../../../../../src/gateway/channels/telegram/telegram.ts';
import { createIntake, type Intake } from '../../../../../src/gateway/intake/intake.ts';
import { createSecondChannel } from '../../../../../src/gateway/intake/reconcile/second-channel.ts';
import { markSent } from '../../../../../src/store/chats/messages/outbox.ts';
import { forgetRows } from '../../../../../src/store/home/forget.ts';
import { findSubject } from '../../../../../src/store/home/subject.ts';
import { memoryOwner } from '../../../../../src/store/owner/memories.ts';
import { json } from '../../../../../src/store/postgres/database.ts';
import { newCode } from '../../../../../src/store/telegram/bots.ts';
import { telegramSendsOf } from '../../../../../src/store/telegram/sends.ts';
import { preferences } from '../../../../../src/tools/preferences.ts';
import { startTestDatabase, type TestDatabase } from '../../../../support/database.ts';
import { type Person, person, TelegramServer } from '../../../../support/telegram/server.ts';
import { unfitMessages } from '../../../../support/transcript.ts';
import { until } from '../../../../support/until.ts';

/** The channel against a local Bot API and a real PostgreSQL; no Temporal server answers, so no turn goes on. */

let database: TestDatabase;
let server: TelegramServer;
let intake: Intake;
/** one round, in which five minutes are over at once */
let secondChannel: () => Promise<void>;
let channel: RunningChannel;
let sender: ChannelSender | null;
let logged = '';
let counter = 0;
const never = new AbortController().signal;
const db = () => database.store.db;

beforeAll(async () => {
  database = await startTestDatabase(8);
}, 60_000);
afterAll(async () => {
  const unfit = database ? await unfitMessages(database.store) : [];
  await database?.close();
  expect(unfit).toEqual([]);
});
beforeEach(async () => {
  server = await TelegramServer.start();
  logged = '';
  await start();
});
afterEach(async () => {
  await channel.stop();
  await server.close();
  await db().deleteFrom('tg_inbox').execute();
  await db().deleteFrom('tg_bots').execute();
});

/** A gateway with this channel. `crash` in place of `stop` leaves everything as a killed process does. */
async function start(): Promise<void> {
  const config = loadConfig({}, { FETCH_HOME: '/nonexistent', FETCH_READ_SECONDS: '0', ...server.env });
  const temporal = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) });
  intake = createIntake({ db: db(), temporal, config, secret: 'secret' });
  secondChannel = createSecondChannel({ db: db(), temporal, config }, 0);
  sender = null;
  const gateway: Gateway = {
    db: db(),
    config,
    log: pino(
      { level: 'trace' },
      {
        write(line: string) {
          logged += line;
        },
      },
    ),
    intake,
    holder: { id: `holder-${++counter}`, isDead: async () => true },
    encryptionKey: () => '0'.repeat(64),
    async serve(served) {
      sender = served;
      return { ended: new Promise(() => {}), drain: async () => {} };
    },
    exit: (reason) => {
      throw new Error(reason);
    },
  };
  channel = await telegram.start(gateway);
  await until('the channel serves its queue', () => sender);
}

/** A person who may write, with a chat of their own. */
async function someone(role: 'owner' | 'trusted' = 'owner'): Promise<Person & { threadId: string; chatId: string }> {
  const who = person(100_000 + ++counter, 'Ana');
  await db().insertInto('tg_people').values({ user_id: who.id, role, name: 'Ana' }).execute();
  const { id: threadId } = await intake.channelThread('telegram', String(who.id));
  const { chat_id: chatId } = await db()
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', threadId)
    .executeTakeFirstOrThrow();
  return { ...who, threadId, chatId };
}

const bodies = async (chatId: string): Promise<string[]> =>
  (await db().selectFrom('inbox').select('body').where('chat_id', '=', chatId).orderBy('received_at').execute()).map(
    ({ body }) => body,
  );

const handled = () =>
  until('every update is handled', async () => {
    const open = await db().selectFrom('tg_inbox').select('seq').where('handled_at', 'is', null).execute();
    return open.length === 0 && server.unconfirmed === 0;
  });

/** An outbox row, sent as the queue does it. */
async function say(chat: { chatId: string; threadId: string }, body: string): Promise<string> {
  const id = `out_${++counter}`;
  await db()
    .insertInto('outbox')
    .values({ id, chat_id: chat.chatId, thread_id: chat.threadId, turn_id: null, kind: 'answer', body })
    .execute();
  await deliver(id);
  return id;
}

async function deliver(id: string): Promise<void> {
  await sender!.send({ id, address: '', kind: 'answer', body: '' }, never);
  await markSent(db(), id);
}

/** Replies of intake, which the conversation would send. */
async function deliverAll(chatId: string): Promise<void> {
  const rows = await db()
    .selectFrom('outbox')
    .select('id')
    .where('chat_id', '=', chatId)
    .where('state', '=', 'queued')
    .orderBy('ord')
    .execute();
  for (const { id } of rows) await deliver(id);
}

async function question(chat: { chatId: string; threadId: string }, options: string[]): Promise<string> {
  const id = `call_${++counter}`;
  const { threadId } = chat;
  const { turnId } = await intake.say({ threadId, text: 'work', plain: true, channelMessageId: `work ${id}` });
  await db()
    .insertInto('questions')
    .values({
      id,
      chat_id: chat.chatId,
      thread_id: chat.threadId,
      turn_id: turnId!,
      call_id: null,
      kind: 'question',
      prompt: 'Which colour?',
      options: json(options),
      state: 'open',
      decision: null,
      answer: null,
      decided_at: null,
      delivered_at: null,
    })
    .execute();
  await db()
    .insertInto('outbox')
    .values({
      id: outboxId(turnId!, id),
      chat_id: chat.chatId,
      thread_id: chat.threadId,
      turn_id: turnId,
      kind: 'question',
      body: 'Which colour?',
    })
    .execute();
  return id;
}

it('passes a message on once, also when it comes again under another id of its update', async () => {
  const ana = await someone();
  const id = server.writes(ana, 'count my files');
  await handled();
  server.dropUpdateIds(5);
  server.repeat(id, ana, 'count my files');
  await handled();
  expect(await bodies(ana.chatId)).toEqual(['count my files']);
});

it('takes what was written while it was away, in order', async () => {
  const ana = await someone();
  await channel.stop();
  for (const n of [1, 2, 3, 4, 5, 6]) server.writes(ana, `line ${n}`);
  await start();
  await handled();
  expect((await bodies(ana.chatId)).join('\n')).toBe('line 1\nline 2\nline 3\nline 4\nline 5\nline 6');
});

it('ignores strangers, other bots and channels', async () => {
  const ana = await someone();
  server.writes(person(999, 'Eve'), 'let me in');
  server.writes({ ...ana, is_bot: true }, 'from a bot');
  server.sends(ana, { text: 'as an administrator', sender_chat: { id: -100, type: 'supergroup' } });
  server.sends(ana, { text: 'as a business', business_connection_id: 'x' });
  await handled();
  expect(await bodies(ana.chatId)).toEqual([]);
  const stored = await db().selectFrom('tg_inbox').select('content').execute();
  expect(stored.every(({ content }) => Object.keys(content).length === 0)).toBe(true);
});

it('makes whoever opens the link first the owner, whose memories it then has', async () => {
  const code = await db()
    .transaction()
    .execute(async (tx) => await newCode(tx, 'owner'));
  const [ana, eve] = [person(200_001, 'Ana'), person(200_002, 'Eve')];
  server.writes(ana, `/start ${code}`);
  await handled();
  server.writes(eve, `/start ${code}`);
  await handled();
  const people = await db()
    .selectFrom('tg_people')
    .select(['user_id', 'role'])
    .where('user_id', '>', 200_000)
    .execute();
  expect(people).toEqual([{ user_id: ana.id, role: 'owner' }]);
  const chat = await db()
    .selectFrom('chats')
    .select('id')
    .where('address', '=', String(ana.id))
    .executeTakeFirstOrThrow();
  expect(await memoryOwner(db(), chat.id, {})).toBe('owner');
  await deliverAll(chat.id);
  await server.sees(ana.id, 'your own chat');
});

it('changes a message that is edited before it is read', async () => {
  const ana = await someone();
  const id = server.writes(ana, 'delete everything');
  server.edits(ana, id, 'list everything');
  await handled();
  expect(await bodies(ana.chatId)).toEqual(['list everything']);
});

it('reads all pictures of an album as one turn, and names what it cannot read', async () => {
  const ana = await someone();
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  for (const name of ['one', 'two', 'three']) {
    server.files.set(name, png);
    server.sends(ana, { photo: [{ file_id: name, file_size: png.length }], media_group_id: '77' });
  }
  await handled();
  const [album] = await bodies(ana.chatId);
  expect(album?.match(/\[picture \d/g)).toEqual(['[picture 1', '[picture 2', '[picture 3']);
  server.sends(ana, { sticker: { file_id: 's', emoji: '🦊' } });
  server.sends(ana, { document: { file_id: 'big', file_size: 30_000_000, file_name: 'film.mkv' } });
  await handled();
  await deliverAll(ana.chatId);
  await until('the sticker is read', async () =>
    (await bodies(ana.chatId)).some((body) => body.includes('[sticker: 🦊]')),
  );
  await server.sees(ana.id, 'too large for me');
});

it('answers in a group only when it is named or answered, and in the topic where it was asked', async () => {
  const ana = await someone('trusted');
  const chat = { id: -1001, type: 'supergroup', title: 'Family' };
  const topic = { is_topic_message: true, message_thread_id: 9 };
  const mention = { entities: [{ type: 'mention', offset: 0, length: 15 }], ...topic };
  server.writes(ana, 'who brings the cake?', topic, chat);
  server.writes(
    ana,
    '@fetch_test_botx hello',
    { entities: [{ type: 'mention', offset: 0, length: 16 }], ...topic },
    chat,
  );
  server.writes(ana, '/stop@other_bot', { entities: [{ type: 'bot_command', offset: 0, length: 15 }], ...topic }, chat);
  server.writes(ana, '@Fetch_Test_Bot what is the time?', mention, chat);
  await handled();
  const { id: chatId } = await db()
    .selectFrom('chats')
    .select('id')
    .where('address', '=', '-1001/9')
    .executeTakeFirstOrThrow();
  const [only, ...others] = await bodies(chatId);
  expect(only).toContain('what is the time?');
  expect(only).not.toContain('cake');
  expect(others).toEqual([]);
  const { id: threadId } = await intake.channelThread('telegram', '-1001/9');
  await say({ chatId, threadId }, 'Noon.');
  expect(server.shown.at(-1)).toMatchObject({ chat: -1001, thread: 9, text: 'Noon.' });
});

it('answers in the group itself when the topic is deleted, and says so', async () => {
  const { id: threadId } = await intake.channelThread('telegram', '-1002/9');
  const { chat_id: chatId } = await db()
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', threadId)
    .executeTakeFirstOrThrow();
  server.fail('sendMessage', { refuse: 400, description: 'Bad Request: message thread not found' });
  await say({ chatId, threadId }, '**Noon.**');
  const text = '(This was for a topic that is closed or deleted.)\n\nNoon.';
  const entities = [{ type: 'bold', offset: text.length - 5, length: 5 }];
  expect(server.shown).toMatchObject([{ chat: -1002, thread: null, text, entities }]);
});

it('formats by entities, and cuts a long block of code into blocks of its language', async () => {
  const ana = await someone();
  const code = Array.from({ length: 300 }, (_, n) => `const emoji${n} = '👩‍🔬'; // line`).join('\n');
  await say(ana, `**Done** in \`main.ts\`:\n\n\`\`\`ts\n${code}\n\`\`\``);
  expect(server.shown.length).toBeGreaterThan(1);
  for (const { text, entities } of server.shown) {
    expect(text.length).toBeLessThanOrEqual(4096);
    expect(text.isWellFormed()).toBe(true);
    expect(entities).toContainEqual(expect.objectContaining({ type: 'pre', language: 'ts' }));
  }
  const shown = server.shown.map(({ text }) => text).join('\n');
  expect(shown.match(/line/g)?.length).toBe(300);
  expect(server.shown[0]?.entities[0]).toEqual({ type: 'bold', offset: 0, length: 4 });
});

it('asks with buttons, and takes a press or a word for the answer, once', async () => {
  const ana = await someone();
  for (const answering of ['press', 'word'] as const) {
    const id = await question(ana, ['red', 'green']);
    await deliverAll(ana.chatId);
    const asked = await until('the question is shown', () =>
      server.shown.findLast(({ buttons }) => buttons.length > 0),
    );
    const { delivered_at } = await db()
      .selectFrom('questions')
      .select('delivered_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(delivered_at).toBeInstanceOf(Date);
    if (answering === 'press') {
      server.presses(person(998, 'Eve'), asked, 'red');
      server.presses(ana, asked, 'green');
      server.presses(ana, asked, 'green');
    } else server.writes(ana, '2');
    await handled();
    const { state, answer } = await db()
      .selectFrom('questions')
      .select(['state', 'answer'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect({ state, answer }).toEqual({ state: 'answered', answer: 'green' });
    if (answering === 'press') {
      await until('every press is acknowledged', () => server.callsOf('answerCallbackQuery').length >= 2);
      await until('the buttons are gone', () => asked.buttons.length === 0);
    }
  }
});

it('looks for a message whose outcome is unknown, never sends it again, and says so where it is not found', async () => {
  const ana = await someone();
  server.writes(ana, 'status');
  await handled();
  await deliverAll(ana.chatId);
  for (const fault of ['cut after', 'proxy error', 'half an answer', 'cut before'] as const) {
    server.fail('sendMessage', fault);
    const text = `the answer after ${fault}`;
    const id = await say(ana, text);
    const arrived = fault !== 'cut before';
    expect((await telegramSendsOf(db(), id))[0]?.state).toBe(arrived ? 'sent' : 'unknown');
    await deliver(id);
    expect(server.textsIn(ana.id).filter((each) => each === text)).toHaveLength(arrived ? 1 : 0);
    await deliverAll(ana.chatId);
    const told = server.textsIn(ana.id).filter((each) => each.includes(`began: “${text}”`));
    expect(told).toHaveLength(arrived ? 0 : 1);
  }
  expect(server.shown.every(({ edits }) => edits === 0)).toBe(true);
});

it('reports a message as unknown when the process died while it was sent', async () => {
  const ana = await someone();
  const id = `out_${++counter}`;
  await db()
    .insertInto('outbox')
    .values({ id, chat_id: ana.chatId, thread_id: ana.threadId, turn_id: null, kind: 'answer', body: 'half sent' })
    .execute();
  await db()
    .insertInto('tg_sends')
    .values({
      outbox_id: id,
      part: 0,
      chat: String(ana.id),
      content: json({ kind: 'text', asks: false, text: 'half sent', entities: [] }),
      state: 'sending',
      question_id: null,
    })
    .execute();
  await deliver(id);
  await deliverAll(ana.chatId);
  expect(server.textsIn(ana.id)).toEqual([expect.stringContaining('began: “half sent”')]);
});

it('asks a question once more when nobody knows whether it arrived', async () => {
  const ana = await someone();
  const id = await question(ana, ['red', 'green']);
  // nothing that was said there tells where to look for it
  server.fail('sendMessage', 'cut after');
  await deliverAll(ana.chatId);
  expect(server.textsIn(ana.id)).toEqual([
    expect.stringContaining('Which colour?'),
    expect.stringMatching(/^\(I may have asked this already\.\)\n\nWhich colour\?/),
  ]);
  server.presses(ana, server.shown[0]!, 'red');
  server.presses(ana, server.shown[1]!, 'red');
  await handled();
  const row = await db().selectFrom('questions').select('answer').where('id', '=', id).executeTakeFirstOrThrow();
  expect(row.answer).toBe('red');
});

it('waits as long as Telegram asks, and leaves the chat alone until then', async () => {
  const ana = await someone();
  const description = 'Too Many Requests: retry after 7';
  server.fail('sendMessage', { refuse: 429, description, parameters: { retry_after: 7 } });
  await expect(say(ana, 'patience')).rejects.toMatchObject({ name: 'ChannelAway', retryAfterMs: 7_000 });
  const before = server.calls.length;
  await expect(say(ana, 'more')).rejects.toMatchObject({ name: 'ChannelAway' });
  expect(server.calls.slice(before).filter(({ params }) => params.chat_id === ana.id)).toEqual([]);
});

it('gives a refused message up once, and sends the next one', async () => {
  const ana = await someone();
  server.fail('sendMessage', { refuse: 403, description: 'Forbidden: bot was blocked by the user' });
  const id = await say(ana, 'nobody reads this');
  const row = await db().selectFrom('outbox').select('state').where('id', '=', id).executeTakeFirstOrThrow();
  expect(row.state).toBe('failed');
  await say(ana, 'back again');
  expect(server.textsIn(ana.id)).toEqual(['back again']);
});

it('sends a text without its formatting where Telegram refuses that', async () => {
  const ana = await someone();
  server.fail('sendMessage', { refuse: 400, description: "Bad Request: can't parse entities" });
  await say(ana, '**bold**');
  expect(server.shown).toMatchObject([{ text: 'bold', entities: [] }]);
});

it('sends a file with its name and words, and an answer without one that Telegram does not take, which it says', async () => {
  const ana = await someone();
  const data = Buffer.from('data');
  const file = { kind: 'document' as const, mime: 'text/plain', name: 'a.txt', data, size: data.length, sha256: '0' };
  await db()
    .insertInto('attachments')
    .values({ id: 'att_0123456789abcdef', thread_id: ana.threadId, preview: null, text: null, ...file })
    .execute();
  await say(ana, 'Here it is.\n\n[the list](attachment:att_0123456789abcdef)');
  expect(server.shown.at(-1)).toMatchObject({ text: 'the list', file: { name: 'a.txt', bytes: 4 } });
  server.fail('sendDocument', { refuse: 413, description: 'Request Entity Too Large' });
  await say(ana, 'Once more.\n\n[the list](attachment:att_0123456789abcdef)');
  expect(server.textsIn(ana.id)).toEqual([
    'Here it is.',
    'the list',
    'Once more.',
    '(A file could not be sent, because Telegram did not take it: the list)',
  ]);
});

it('goes on after another program has read its messages, and after a broken poll', async () => {
  const ana = await someone();
  await until('it polls', () => server.callsOf('getUpdates').length > 0);
  server.fail('getUpdates', { refuse: 409, description: 'Conflict: terminated by other getUpdates request' });
  server.cutPoll();
  const problem = async () => (await db().selectFrom('tg_bots').select('problem').executeTakeFirstOrThrow()).problem;
  await until('the problem is told', async () => (await problem())?.startsWith('Another program'));
  server.writes(ana, 'still there?');
  await handled();
  expect(await bodies(ana.chatId)).toEqual(['still there?']);
  await until('the problem is over', async () => (await problem()) === null);
});

it('waits as long as Telegram asks before it polls again, and does not blame the token', async () => {
  const ana = await someone();
  await channel.stop();
  const pausing = { refuse: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } };
  server.fail('getMe', pausing);
  server.fail('getUpdates', pausing);
  logged = '';
  const before = server.callsOf('getUpdates').length;
  server.writes(ana, 'are you there?');
  await start();
  await handled();
  expect(await bodies(ana.chatId)).toEqual(['are you there?']);
  expect(logged.match(/Telegram has asked for a pause/g)).toHaveLength(2);
  const [refused, next] = server.callsOf('getUpdates').slice(before);
  expect(next!.at - refused!.at).toBeGreaterThanOrEqual(1_000);
});

it('goes on after answers that are none of Telegram’s, and never asks in a hurry', async () => {
  const ana = await someone();
  const before = server.callsOf('getUpdates').length;
  const nothing = { says: '{"ok":true,"result":[]}' };
  const wrong = ['<html>Log in to this network</html>', '{"ok":true}', 'null', '{"ok":true,"result":{"update_id":1}}'];
  server.fail('getUpdates', nothing, nothing, nothing, { says: wrong[0]! });
  server.cutPoll();
  await until('four answers came', () => server.callsOf('getUpdates').length >= before + 4);
  const times = server.callsOf('getUpdates').slice(before);
  for (const [at, { at: time }] of times.slice(1).entries()) expect(time - times[at]!.at).toBeGreaterThan(900);
  const problem = () => db().selectFrom('tg_bots').select('problem').executeTakeFirst();
  await until('the answer is told as a problem', async () => (await problem())?.problem);
  expect(await problem()).toEqual({ problem: 'Telegram cannot be reached.' });
  server.fail('getUpdates', ...wrong.slice(1).map((says) => ({ says })));
  server.writes(ana, 'still there?');
  await handled();
  expect(await bodies(ana.chatId)).toEqual(['still there?']);
  expect(logged).not.toContain('could not be stored');
  await until('the problem is over', async () => (await problem())?.problem === null);
}, 60_000);

it('keeps what it has to say while its token is revoked, says so, and loses nothing', async () => {
  const ana = await someone();
  const revoked = { refuse: 401, description: 'Unauthorized' };
  server.fail('getUpdates', revoked);
  server.fail('sendMessage', revoked);
  server.cutPoll();
  await until('the poll is refused', () => logged.includes('does not accept the token of the bot'));
  const told = await db().selectFrom('tg_bots').select('problem').executeTakeFirst();
  expect(told?.problem).toBe(
    'Telegram does not accept the token of the bot. Get one from @BotFather, and put it in on my page, under Settings.',
  );
  const id = `out_${++counter}`;
  const row = {
    id,
    chat_id: ana.chatId,
    thread_id: ana.threadId,
    turn_id: null,
    kind: 'answer',
    body: 'kept',
  } as const;
  await db().insertInto('outbox').values(row).execute();
  await expect(deliver(id)).rejects.toThrow('the message waits');
  server.writes(ana, 'and now?');
  await handled();
  await deliver(id);
  expect(server.textsIn(ana.id)).toEqual(['kept']);
  expect(await bodies(ana.chatId)).toEqual(['and now?']);
}, 60_000);

it('never writes the token into a log', async () => {
  const ana = await someone();
  server.fail('sendMessage', 'cut before', 'proxy error', { refuse: 400, description: 'Bad Request' });
  for (const n of [1, 2, 3]) await say(ana, `message ${n}`);
  server.cutPoll();
  server.files.delete('gone');
  server.sends(ana, { document: { file_id: 'gone', file_size: 10, file_name: 'a.txt' } });
  await handled();
  expect(logged).toContain('a Telegram message was not sent');
  expect(logged).not.toContain('test-token');
});

it('forgets a person by name, with the words in groups and the permission', async () => {
  const zoe = { ...(await someone('trusted')), first_name: 'Zoe' };
  await db().updateTable('tg_people').set({ name: 'Zoe' }).where('user_id', '=', zoe.id).execute();
  const group = { id: -2002, type: 'group', title: 'Family' };
  server.writes(zoe, 'my secret is xylophone');
  server.writes(zoe, '@fetch_test_bot xylophone', { entities: [{ type: 'mention', offset: 0, length: 15 }] }, group);
  await handled();
  const subject = await findSubject(db(), 'zoe');
  expect(subject?.groups).toHaveLength(1);
  await forgetRows(db(), subject!, { dryRun: false });
  const rest = await Promise.all([
    db().selectFrom('tg_people').select('name').where('user_id', '=', zoe.id).execute(),
    db().selectFrom('tg_inbox').select('seq').where('user_id', '=', zoe.id).execute(),
    db().selectFrom('inbox').select('id').where('body', 'like', '%xylophone%').execute(),
  ]);
  expect(rest).toEqual([[], [], []]);
});

/** The owner's chat on WhatsApp. */
async function ownersWhatsApp(state: 'authenticated' | 'disconnected') {
  await db().deleteFrom('wa_accounts').execute();
  const jid = `49170${++counter}@s.whatsapp.net`;
  await db()
    .insertInto('wa_accounts')
    .values({ account: `a${counter}`, wanted: 'on', state, jid, request: 1 })
    .execute();
  const { id: threadId } = await intake.channelThread('whatsapp', jid);
  const { chat_id: chatId } = await db()
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', threadId)
    .executeTakeFirstOrThrow();
  return { threadId, chatId };
}

async function onlyOwner() {
  await db().deleteFrom('tg_people').execute();
  return await someone();
}

const stateOf = (id: string) =>
  db().selectFrom('questions').select(['state', 'answer', 'also_in']).where('id', '=', id).executeTakeFirstOrThrow();

const noticesTo = async (chatId: string) =>
  (
    await db()
      .selectFrom('outbox')
      .select('body')
      .where('chat_id', '=', chatId)
      .where('kind', '=', 'notice')
      .orderBy('ord')
      .execute()
  ).map(({ body }) => body);

it('asks on Telegram, too, what WhatsApp cannot show, takes one answer, and tells WhatsApp', async () => {
  for (const answering of ['press', 'option', 'number'] as const) {
    const ana = await onlyOwner();
    const there = await ownersWhatsApp('disconnected');
    const id = await question(there, ['red', 'green']);
    const asks = await db()
      .selectFrom('outbox')
      .select('id')
      .where('chat_id', '=', there.chatId)
      .where('kind', '=', 'question')
      .executeTakeFirstOrThrow();
    // WhatsApp had it, and went away then
    await markSent(db(), asks.id);
    await secondChannel();
    await secondChannel();
    await deliverAll(ana.chatId);
    expect(server.textsIn(ana.id).filter((text) => text.includes('Which colour?'))).toEqual([
      expect.stringContaining('(Asked on WhatsApp. You can answer here, too.)'),
    ]);
    // once for each time that it is away
    expect(server.shown.filter(({ text }) => text.startsWith('WhatsApp is away.'))).toHaveLength(1);
    const shown = server.shown.findLast(({ buttons }) => buttons.length > 0)!;
    if (answering === 'press') {
      server.presses(person(997, 'Eve'), shown, 'red');
      server.presses(ana, shown, 'green');
      server.presses(ana, shown, 'red');
    } else server.writes(ana, answering === 'option' ? 'green' : '2');
    await handled();
    expect(await stateOf(id)).toMatchObject({ state: 'answered', answer: 'green' });
    await until('what became of it is told', async () => {
      await deliverAll(ana.chatId);
      return server.textsIn(ana.id).includes('That is answered. The rest comes on WhatsApp.');
    });
    await secondChannel();
    await secondChannel();
    expect(await noticesTo(there.chatId)).toEqual(['Answered on Telegram: green. That settles “Which colour?”']);
    expect((await stateOf(id)).also_in).toBeNull();
  }
});

it('asks on WhatsApp, too, while Telegram does not answer, and tells it when the answer came on Telegram', async () => {
  const ana = await onlyOwner();
  const there = await ownersWhatsApp('authenticated');
  const id = await question(ana, []);
  await deliverAll(ana.chatId);
  await secondChannel();
  expect((await stateOf(id)).also_in).toBeNull();
  await db().updateTable('tg_bots').set({ problem: 'Telegram cannot be reached.' }).execute();
  await secondChannel();
  expect((await stateOf(id)).also_in).toBe(there.chatId);
  const again = (state: 'queued' | 'sent') =>
    db()
      .selectFrom('outbox')
      .select('id')
      .where('chat_id', '=', there.chatId)
      .where('kind', '=', 'question')
      .where('state', '=', state)
      .executeTakeFirst();
  await markSent(db(), (await again('queued'))!.id);
  // a command stays a command
  await intake.say({ threadId: there.threadId, text: 'status', channelMessageId: `status ${id}` });
  expect(await stateOf(id)).toMatchObject({ state: 'open' });
  server.writes(ana, 'blue');
  await handled();
  expect(await stateOf(id)).toMatchObject({ state: 'answered', answer: 'blue' });
  await secondChannel();
  expect((await noticesTo(there.chatId)).at(-1)).toBe('Answered on Telegram: blue. That settles “Which colour?”');
});

it('asks where the owner wishes, and no more where a task asks while they write elsewhere', async () => {
  const ana = await onlyOwner();
  const there = await ownersWhatsApp('authenticated');
  const ask = async (askOn: string) => {
    const call = { db: db(), chatId: ana.chatId, config: loadConfig({}, {}), callId: `call_${++counter}` };
    const { output } = await preferences.run({ askOn } as never, { ...ana, ...call } as never);
    return output;
  };
  const isAskedIn = async (chat: { chatId: string; threadId: string }) => {
    const id = await question(chat, ['red', 'green']);
    // its channel has it
    await db().updateTable('outbox').set({ state: 'sent' }).where('chat_id', '=', chat.chatId).execute();
    await secondChannel();
    const { also_in } = await stateOf(id);
    await db().updateTable('questions').set({ state: 'cancelled', also_in: null }).where('id', '=', id).execute();
    return also_in;
  };
  // an answer on the channel of the question is awaited there
  expect(await isAskedIn(there)).toBeNull();
  expect(await ask('telegram')).toContain('questions: also on Telegram, from each of your chats');
  expect(await isAskedIn(there)).toBe(ana.chatId);
  expect(await isAskedIn(ana)).toBeNull();
  expect(await ask('whatsapp')).toContain('questions: also on WhatsApp');
  expect([await isAskedIn(there), await isAskedIn(ana)]).toEqual([null, there.chatId]);
  expect(await ask('default')).not.toContain('questions:');
  expect([await isAskedIn(there), await isAskedIn(ana)]).toEqual([null, null]);
});

/** A chat of the owner at the terminal or on the page. */
async function onScreen(channel: 'console' | 'api') {
  const { id: threadId } = await intake.channelThread(channel, `screen-${++counter}`);
  const { chat_id: chatId } = await db()
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', threadId)
    .executeTakeFirstOrThrow();
  return { threadId, chatId };
}
const asTask = (id: string) =>
  db().updateTable('questions').set({ task_id: 'tsk_asks' }).where('id', '=', id).execute();
/** The owner writes there, later than anywhere else. */
const writtenIn = ({ chatId }: { chatId: string }) =>
  db()
    .updateTable('chats')
    .set({ last_activity_at: new Date(Date.now() + 1_000 * ++counter) })
    .where('id', '=', chatId)
    .execute();

it.each(['console', 'api'] as const)(
  'asks on Telegram what a task asks on a screen (%s) that the owner has left',
  async (name) => {
    const ana = await onlyOwner();
    const there = await onScreen(name);
    const id = await question(there, ['red', 'green']);
    await writtenIn(there);
    await secondChannel();
    await writtenIn(ana);
    await secondChannel();
    // a turn that a person has just begun there is answered there
    expect((await stateOf(id)).also_in).toBeNull();
    await asTask(id);
    await secondChannel();
    await secondChannel();
    expect((await stateOf(id)).also_in).toBe(ana.chatId);
    // words from before it is shown there are none about it
    server.writes(ana, 'green');
    await handled();
    expect(await stateOf(id)).toMatchObject({ state: 'open' });
    await deliverAll(ana.chatId);
    expect(server.textsIn(ana.id).filter((text) => text.includes('Which colour?'))).toEqual([
      expect.stringContaining('(Asked at your computer. You can answer here, too.)'),
    ]);
    server.presses(ana, server.shown.findLast(({ buttons }) => buttons.length > 0)!, 'green');
    await handled();
    expect(await stateOf(id)).toMatchObject({ state: 'answered', answer: 'green' });
    await until('what became of it is told', async () => {
      await deliverAll(ana.chatId);
      return server.textsIn(ana.id).includes('That is answered. The rest comes at your computer.');
    });
    await secondChannel();
    // the screen shows the question as settled
    expect(await noticesTo(there.chatId)).toEqual([]);
  },
);

it('asks at the terminal, too, where the owner writes while a task of Telegram works, and takes the answer there', async () => {
  const ana = await onlyOwner();
  const there = await onScreen('console');
  const id = await question(ana, ['red', 'green']);
  await asTask(id);
  await deliverAll(ana.chatId);
  await writtenIn(ana);
  await secondChannel();
  expect((await stateOf(id)).also_in).toBeNull();
  await writtenIn(there);
  await secondChannel();
  await secondChannel();
  expect((await stateOf(id)).also_in).toBe(there.chatId);
  expect(await noticesTo(there.chatId)).toEqual(['(Asked on Telegram. You can answer here, too.)\nWhich colour?']);
  await db().updateTable('outbox').set({ state: 'sent' }).where('chat_id', '=', there.chatId).execute();
  await intake.say({ threadId: there.threadId, text: 'green', channelMessageId: `green ${id}` });
  expect(await stateOf(id)).toMatchObject({ state: 'answered', answer: 'green' });
  await secondChannel();
  expect((await noticesTo(ana.chatId)).at(-1)).toBe('Answered at your computer: green. That settles “Which colour?”');
});

it('tells on Telegram, once, what failed while WhatsApp is away', async () => {
  const ana = await onlyOwner();
  const there = await ownersWhatsApp('disconnected');
  for (const [run, status] of [
    ['wfr_bad', 'failed'],
    ['wfr_good', 'completed'],
  ] as const) {
    const row = { id: run, routine_id: 'r', routine_name: 'r', chat_id: there.chatId, workflow_id: run, status };
    await db()
      .insertInto('routine_runs')
      .values({ ...row, cron_id: null, scheduled_for: null, summary: null, results: '[]', ended_at: null })
      .execute();
    const out = { id: `out_${run}_result`, chat_id: there.chatId, thread_id: null, turn_id: null };
    await db()
      .insertInto('outbox')
      .values({ ...out, kind: 'result', body: `the report of ${run}` })
      .execute();
  }
  await secondChannel();
  await secondChannel();
  const told = (await noticesTo(ana.chatId)).filter((text) => text.includes('the report of'));
  expect(told).toEqual(['(For WhatsApp, which is away.)\n\nthe report of wfr_bad']);
});

it('never asks in the chat of somebody else', async () => {
  await db().deleteFrom('tg_people').execute();
  await someone('trusted');
  const there = await ownersWhatsApp('disconnected');
  const id = await question(there, ['red', 'green']);
  await secondChannel();
  expect((await stateOf(id)).also_in).toBeNull();
});

it('takes a thumb on a question for its answer', async () => {
  const ana = await someone();
  const id = await question(ana, ['yes, go on', 'no, wait']);
  await deliverAll(ana.chatId);
  const asked = server.shown.at(-1)!;
  server.reacts(person(996, 'Eve'), asked, '👍');
  server.reacts(ana, asked, null);
  server.reacts(ana, asked, '❤');
  await handled();
  expect(await stateOf(id)).toMatchObject({ state: 'open' });
  server.reacts(ana, asked, '👍');
  await handled();
  expect(await stateOf(id)).toMatchObject({ state: 'answered', answer: 'yes, go on' });
});

it('keeps a group that became a supergroup, whichever of the two notes comes first', async () => {
  const ana = await someone('trusted');
  const mention = { entities: [{ type: 'mention', offset: 0, length: 15 }] };
  const old = { id: -3003, type: 'group', title: 'Club' };
  const now = { id: -1003003, type: 'supergroup', title: 'Club' };
  server.writes(ana, '@fetch_test_bot first', mention, old);
  await handled();
  const chatAt = (id: number) =>
    db().selectFrom('chats').select('id').where('address', '=', String(id)).executeTakeFirst();
  const before = await chatAt(old.id);
  server.sends(ana, { migrate_from_chat_id: old.id }, now);
  server.sends(ana, { migrate_to_chat_id: now.id }, old);
  server.writes(ana, '@fetch_test_bot second', mention, now);
  await handled();
  expect(await chatAt(now.id)).toEqual(before);
  expect(await chatAt(old.id)).toBeUndefined();
  expect((await bodies(before!.id)).map((body) => /first|second/.exec(body)?.[0])).toEqual(['first', 'second']);
});

it('passes over an update of an unknown form, and reads what follows it', async () => {
  const ana = await someone();
  server.pushes({ message: { message_id: 1, text: 'no chat' } }, { message: null }, { something_new: { id: 1 } });
  server.writes(ana, 'hello after it');
  await handled();
  expect(await bodies(ana.chatId)).toEqual(['hello after it']);
});
