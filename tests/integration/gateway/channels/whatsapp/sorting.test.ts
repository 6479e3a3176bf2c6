import { Client, Connection } from '@temporalio/client';
import { proto } from '@whiskeysockets/baileys';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../../../../src/config.ts';
import type { Danger } from '../../../../../src/contracts/conversation.ts';
import { Receiver } from '../../../../../src/gateway/channels/whatsapp/inbound/receive.ts';
import { createIntake } from '../../../../../src/gateway/intake/intake.ts';
import { json } from '../../../../../src/store/postgres/database.ts';
import { wish } from '../../../../../src/store/whatsapp/account.ts';
import { timerOf } from '../../../../../src/store/whatsapp/chats.ts';
import { releaseNumber } from '../../../../../src/store/whatsapp/contacts.ts';
import { storeReceived } from '../../../../../src/store/whatsapp/inbox.ts';
import { replyJid } from '../../../../../src/store/whatsapp/outgoing.ts';
import { startTestDatabase, type TestDatabase } from '../../../../support/database.ts';
import { until } from '../../../../support/until.ts';

/**
 * What becomes of messages of a group, from the stored stanza on: a real PostgreSQL, and a Temporal server that is
 * away.
 */

const ACCOUNT = 'default';
const PEOPLE = { Owner: '1555000', Ann: '1555001', Ben: '1555002', Cleo: '1555003' } as const;
type Name = keyof typeof PEOPLE;
const pn = (who: Name) => `${PEOPLE[who]}0000@s.whatsapp.net`;
const lid = (who: Name) => `9${PEOPLE[who]}@lid`;

let database: TestDatabase;
let receiver: Receiver;
let group: string;
let counter = 0;
const db = () => database.store.db;

beforeAll(async () => {
  database = await startTestDatabase(6);
  const numbers = (names: Name[]) => names.map((who) => pn(who).split('@')[0]).join(',');
  const config = loadConfig(
    {},
    {
      FETCH_HOME: '/nonexistent',
      OWNER_PHONE_NUMBER: numbers(['Owner']),
      TRUSTED_PHONE_NUMBERS: numbers(['Ann', 'Ben', 'Cleo']),
    },
  );
  // left open at the end: it never connects, and a closed one throws from the timer of its next try
  const temporal = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) });
  await wish(db(), ACCOUNT, { wanted: 'on', numberMode: 'dedicated' });
  await db().updateTable('wa_accounts').set({ jid: '15559990000@s.whatsapp.net', lid: '9999@lid' }).execute();
  const intake = createIntake({ db: db(), temporal, config, secret: 'secret' });
  receiver = new Receiver({
    db: db(),
    config,
    log: pino({ level: 'silent' }),
    account: ACCOUNT,
    intake,
    live: () => null,
  });
}, 60_000);
afterAll(async () => {
  await receiver?.stop();
  await database?.close();
});
beforeEach(() => {
  group = `12036${++counter}@g.us`;
});

/** A message in the group, from the LID or the number of its author; its id. */
async function writes(who: Name, message: proto.IMessage, by: 'lid' | 'pn' = 'lid', at = Date.now()): Promise<string> {
  const messageId = `3A${++counter}`;
  const other: Record<string, string> = by === 'lid' ? { participant_pn: pn(who) } : {};
  const attrs = { t: String(Math.floor(at / 1000)), notify: who, ...other };
  const content = Buffer.from(proto.Message.encode(message).finish());
  await storeReceived(db(), [
    {
      account: ACCOUNT,
      chat: group,
      participant: by === 'lid' ? lid(who) : pn(who),
      fromMe: false,
      messageId,
      content,
      attrs,
    },
  ]);
  receiver.wake();
  return messageId;
}
const rowOf = (messageId: string) =>
  db()
    .selectFrom('wa_inbox')
    .select(['verdict', 'not_before'])
    .where('message_id', '=', messageId)
    .executeTakeFirstOrThrow();

/** The same, and the verdict that it ends with. */
async function says(
  who: Name,
  message: proto.IMessage,
  by: 'lid' | 'pn' = 'lid',
): Promise<{ messageId: string; verdict: string }> {
  const messageId = await writes(who, message, by);
  const verdict = await until(`what ${who} wrote is handled`, async () => (await rowOf(messageId)).verdict, 20_000);
  return { messageId, verdict };
}
const text = (conversation: string): proto.IMessage => ({ conversation });
const quoting = (words: string, stanzaId: string, quotedMessage: proto.IMessage): proto.IMessage => ({
  extendedTextMessage: { text: words, contextInfo: { stanzaId, quotedMessage } },
});
const thumb = (id: string, emoji: string): proto.IMessage => ({
  reactionMessage: { key: { id, remoteJid: group, fromMe: true }, text: emoji },
});
/** The words that Fetch answered without the model, oldest first. */
const replies = async () =>
  (
    await db()
      .selectFrom('outbox')
      .innerJoin('chats', 'chats.id', 'outbox.chat_id')
      .select('outbox.body')
      .where('chats.address', '=', group)
      .orderBy('ord')
      .execute()
  ).map((row) => row.body);

/** Ann begins a turn, which asks whether it may run something; returns the question and the message that shows it. */
async function asksFor(danger: Danger): Promise<{ questionId: string; shownAs: string }> {
  const { messageId } = await says('Ann', text('@fetch clean up'));
  const { turn_id, thread_id, chat_id } = await db()
    .selectFrom('wa_inbox')
    .innerJoin('inbox', 'inbox.id', 'wa_inbox.inbox_id')
    .select(['inbox.turn_id', 'inbox.thread_id', 'inbox.chat_id'])
    .where('wa_inbox.message_id', '=', messageId)
    .executeTakeFirstOrThrow();
  const questionId = `call_${++counter}`;
  const shownAs = `3EB0${counter}`;
  const of = { turn_id: turn_id!, thread_id };
  const item = {
    id: `item_${questionId}`,
    ...of,
    kind: 'tool_call' as const,
    status: 'in_progress' as const,
    summary: 'x',
    detail: null,
  };
  await db()
    .insertInto('items')
    .values({ ...item, started_at: new Date(), ended_at: null })
    .execute();
  const call = {
    id: questionId,
    ...of,
    provider_id: 'p',
    item_id: item.id,
    step: 1,
    position: 0,
    name: 'wipe',
    args: '{}',
    danger,
    effect: 'once' as const,
  };
  await db()
    .insertInto('calls')
    .values({ ...call, state: 'pending', ok: null, output: null, started_at: null, ended_at: null })
    .execute();
  const question = {
    id: questionId,
    ...of,
    chat_id,
    call_id: questionId,
    kind: 'approval' as const,
    prompt: 'May I?',
    options: json([]),
    state: 'open' as const,
  };
  await db()
    .insertInto('questions')
    .values({
      ...question,
      decision: null,
      answer: null,
      decided_at: null,
      delivered_at: new Date(Date.now() - 60_000),
    })
    .execute();
  await db()
    .insertInto('outbox')
    .values({ id: `out_${questionId}`, ...of, chat_id, kind: 'question', body: 'May I?', error: null, sent_at: null })
    .execute();
  const send = {
    message_id: shownAs,
    account: ACCOUNT,
    outbox_id: `out_${questionId}`,
    part: 0,
    jid: group,
    content: Buffer.from([1]),
    state: 'sent' as const,
  };
  await db()
    .insertInto('wa_sends')
    .values({
      ...send,
      error: null,
      sent_at: new Date(),
      delivered_at: null,
      read_at: null,
      question_id: questionId,
      edits: null,
    })
    .execute();
  return { questionId, shownAs };
}
const decision = async (questionId: string) =>
  (await db().selectFrom('questions').select('decision').where('id', '=', questionId).executeTakeFirstOrThrow())
    .decision;

it('what is dangerous is not approved by somebody who did not ask for it, in words or with a thumb', async () => {
  const { questionId, shownAs } = await asksFor('DANGEROUS');
  expect((await says('Ben', text('@fetch yes'))).verdict).toBe('reply');
  expect((await says('Ben', thumb(shownAs, '👍'))).verdict).toBe('reply');
  expect(await decision(questionId)).toBeNull();
  expect((await replies()).filter((body) => body.startsWith('Only the owner'))).toHaveLength(2);
});

it('what is dangerous is approved by who asked for it, under either of their addresses', async () => {
  const { questionId, shownAs } = await asksFor('DANGEROUS');
  expect((await says('Ann', thumb(shownAs, '👍🏽'), 'pn')).verdict).toBe('answer');
  expect(await decision(questionId)).toBe('allow');
});

it('what is dangerous is approved by the owner, and refused by anybody who may write', async () => {
  const first = await asksFor('DANGEROUS');
  await says('Owner', text('@fetch yes'));
  expect(await decision(first.questionId)).toBe('allow');
  group = `12036${++counter}@g.us`;
  const second = await asksFor('DANGEROUS');
  await says('Ben', thumb(second.shownAs, '👎'));
  expect(await decision(second.questionId)).toBe('deny');
});

it('what is not dangerous is approved by anybody who may write', async () => {
  const { questionId } = await asksFor('MODERATE');
  await says('Ben', text('@fetch 👍🏿'));
  expect(await decision(questionId)).toBe('allow');
});

it('a bare yes counts from the person who was asked and from the owner, a bare no from anybody who may write', async () => {
  const first = await asksFor('DANGEROUS');
  expect((await says('Ben', text('yes'))).verdict).toBe('not_addressed');
  expect((await says('Ann', text('ok'))).verdict).toBe('not_addressed');
  expect((await says('Ann', quoting('yes', 'OF-BEN', { conversation: 'lunch?' }))).verdict).toBe('not_addressed');
  expect(await decision(first.questionId)).toBeNull();
  expect((await says('Ann', text('Yes'), 'pn')).verdict).toBe('answer');
  expect(await decision(first.questionId)).toBe('allow');
  const second = await asksFor('DANGEROUS');
  expect((await says('Owner', text('yes'))).verdict).toBe('answer');
  expect(await decision(second.questionId)).toBe('allow');
  const third = await asksFor('DANGEROUS');
  expect((await says('Ben', text('no'))).verdict).toBe('answer');
  expect(await decision(third.questionId)).toBe('deny');
  // nothing is open any more, so people talk to each other
  expect((await says('Ann', text('yes'))).verdict).toBe('not_addressed');
});

it('a yes that quotes another message of ours approves nothing, and a no counts', async () => {
  const { questionId, shownAs } = await asksFor('DANGEROUS');
  const other = await asksFor('DANGEROUS');
  await says('Ann', thumb(other.shownAs, '👎'));
  const reply = await says('Ann', quoting('yes', other.shownAs, { conversation: 'May I?' }));
  expect(reply.verdict).toBe('reply');
  expect((await replies()).at(-1)).toMatch(/^That quotes another message, so it decides nothing/);
  expect((await says('Ann', quoting('@fetch yes', 'OF-BEN', { conversation: 'lunch?' }))).verdict).toBe('reply');
  expect(await decision(questionId)).toBeNull();
  await says('Ann', quoting('yes', shownAs, { conversation: 'May I?' }));
  expect(await decision(questionId)).toBe('allow');
  const third = await asksFor('DANGEROUS');
  await says('Ben', quoting('no', shownAs, { conversation: 'May I?' }));
  expect(await decision(third.questionId)).toBe('deny');
});

it('another account with a known number is a stranger, until the owner says otherwise', async () => {
  const { questionId } = await asksFor('DANGEROUS');
  const takes = async (words: string, participant: string, attrs: Record<string, string>) => {
    const messageId = `3A${++counter}`;
    const content = Buffer.from(proto.Message.encode(text(words)).finish());
    const t = String(Math.floor(Date.now() / 1000));
    const row = { account: ACCOUNT, chat: group, participant, fromMe: false, messageId, content };
    await storeReceived(db(), [{ ...row, attrs: { t, ...attrs } }]);
    receiver.wake();
    return await until(`${words} is handled`, async () => (await rowOf(messageId)).verdict, 20_000);
  };
  // Ann has written with her LID. Somebody else has her number now, in either form of the address
  expect(await takes('@fetch yes', '900@lid', { participant_pn: pn('Ann') })).toBe('stranger');
  expect(await takes('@fetch yes', pn('Ann'), { participant_lid: '900@lid' })).toBe('stranger');
  expect(await takes('@fetch yes', pn('Ann'), {})).toBe('stranger');
  expect(await decision(questionId)).toBeNull();
  // what waits for the former person does not go to the number
  await says('Ben', text('@fetch hello'));
  await db()
    .updateTable('wa_contacts')
    .set({ reply_jid: pn('Ben') })
    .where('pn', '=', pn('Ben'))
    .execute();
  expect(await takes('@fetch hi', '902@lid', { participant_pn: pn('Ben') })).toBe('stranger');
  expect(await replyJid(db(), ACCOUNT, lid('Ben'))).toBe(lid('Ben'));
  const release = () =>
    db()
      .transaction()
      .execute((tx) => releaseNumber(tx, pn('Ann').split('@')[0]!));
  await release();
  expect(await takes('@fetch hello', '900@lid', { participant_pn: pn('Ann') })).toBe('steer');
  // somebody else asked for this
  expect(await takes('yes', '900@lid', { participant_pn: pn('Ann') })).toBe('not_addressed');
  expect(await decision(questionId)).toBeNull();
  await release();
});

/** What the model is given of a message, and whose words it counts as. */
const given = async (messageId: string) =>
  await db()
    .selectFrom('wa_inbox')
    .innerJoin('inbox', 'inbox.id', 'wa_inbox.inbox_id')
    .innerJoin('transcript', 'transcript.turn_id', 'inbox.turn_id')
    .select(['transcript.content', 'transcript.words', 'transcript.sources'])
    .where('wa_inbox.message_id', '=', messageId)
    .orderBy('transcript.ord', 'desc')
    .executeTakeFirstOrThrow();
const forwarded = (said: string): proto.IMessage => ({
  extendedTextMessage: { text: said, contextInfo: { isForwarded: true, forwardingScore: 1 } },
});

it('a forwarded yes decides nothing, and a forwarded "stop" stops nothing: the words are somebody else’s', async () => {
  const { questionId, shownAs } = await asksFor('DANGEROUS');
  const { verdict, messageId } = await says('Owner', forwarded('@fetch yes'));
  expect(verdict).toBe('steer');
  expect(await given(messageId)).toMatchObject({
    content: expect.stringContaining('(owner): [Forwarded; somebody else wrote this:]'),
    words: '',
    sources: [{ kind: 'member', label: 'a forwarded message' }],
  });
  const quoting = forwarded('yes');
  quoting.extendedTextMessage!.contextInfo!.stanzaId = shownAs;
  expect((await says('Owner', quoting)).verdict).toBe('steer');
  expect((await says('Owner', forwarded('@fetch stop'))).verdict).toBe('steer');
  expect(await decision(questionId)).toBeNull();
  expect((await says('Owner', text('@fetch yes'))).verdict).toBe('answer');
  expect(await decision(questionId)).toBe('allow');
});

it('a trigger alone makes the words that it quotes no order of the person who quotes them', async () => {
  const quoted = { stanzaId: '3AOTHER', participant: '777@lid', quotedMessage: { conversation: 'status' } };
  const { messageId, verdict } = await says('Owner', { extendedTextMessage: { text: '@fetch', contextInfo: quoted } });
  // it is no command either
  expect(verdict).toBe('turn');
  expect(await given(messageId)).toMatchObject({
    content: 'Owner (owner): [Quoted; somebody else wrote this:]\n  | status',
    words: '',
    sources: [{ kind: 'member', label: 'a quoted message' }],
  });
});

it('the time after which messages disappear is learned from a setting and from messages, and an older one is not', async () => {
  const { EPHEMERAL_SETTING } = proto.Message.ProtocolMessage.Type;
  const setting = (ephemeralExpiration: number) => ({
    protocolMessage: { type: EPHEMERAL_SETTING, ephemeralExpiration },
  });
  const timed = (expiration: number): proto.IMessage => ({
    extendedTextMessage: { text: 'talk', contextInfo: { expiration } },
  });
  const at = Date.now() - 60_000;
  const timerAfter = async (message: proto.IMessage, ms: number, who: Name = 'Ann') => {
    const id = await writes(who, message, 'lid', at + ms);
    await until('it is handled', async () => (await rowOf(id)).verdict, 20_000);
    return await timerOf(db(), ACCOUNT, group);
  };
  expect(await timerAfter(timed(86_400), 1_000)).toBe(86_400);
  expect(await timerAfter(setting(604_800), 20_000)).toBe(604_800);
  expect(await timerAfter(timed(86_400), 10_000)).toBe(604_800);
  expect(await timerAfter(text('plain'), 30_000)).toBe(604_800);
  expect(await timerAfter(setting(0), 40_000)).toBe(0);
});

it('the echo of a message of ours proves that WhatsApp has it, when its ack was lost', async () => {
  const { shownAs } = await asksFor('SAFE');
  await db()
    .updateTable('wa_sends')
    .set({ state: 'queued', sent_at: null })
    .where('message_id', '=', shownAs)
    .execute();
  const row = { account: ACCOUNT, chat: group, participant: '9999@lid', fromMe: true, messageId: shownAs };
  await storeReceived(db(), [
    { ...row, content: Buffer.from(proto.Message.encode(text('May I?')).finish()), attrs: {} },
  ]);
  receiver.wake();
  const state = async () =>
    (await db().selectFrom('wa_sends').select('state').where('message_id', '=', shownAs).executeTakeFirstOrThrow())
      .state;
  await until('the send is known to be accepted', async () => (await state()) === 'sent', 10_000);
  const verdict = async () =>
    (await db().selectFrom('wa_inbox').select('verdict').where('message_id', '=', shownAs).executeTakeFirstOrThrow())
      .verdict;
  await until('it is nothing else', async () => (await verdict()) === 'echo', 10_000);
});

it.each(['an edit', 'a deletion'])(
  '%s that comes before its message waits for it, also for one that is asked for again',
  async (what) => {
    const types = proto.Message.ProtocolMessage.Type;
    for (const stub of [false, true]) {
      const first = `3B${++counter}`;
      const row = {
        account: ACCOUNT,
        chat: group,
        participant: lid('Cleo'),
        fromMe: false,
        messageId: first,
        attrs: { t: String(Math.floor(Date.now() / 1000)), notify: 'Cleo', participant_pn: pn('Cleo') },
      };
      if (stub) await storeReceived(db(), [{ ...row, content: null }]);
      const change = await writes('Cleo', {
        protocolMessage: {
          key: { id: first, remoteJid: group, fromMe: false, participant: lid('Cleo') },
          ...(what === 'an edit'
            ? { type: types.MESSAGE_EDIT, editedMessage: { conversation: '@fetch the new words' } }
            : { type: types.REVOKE }),
        },
      });
      await until('it waits', async () => (await rowOf(change)).not_before, 20_000);
      const content = Buffer.from(proto.Message.encode(text('@fetch the old words')).finish());
      await storeReceived(db(), [{ ...row, content }]);
      receiver.wake();
      await until(
        'both are handled',
        async () => (await rowOf(first)).verdict && (await rowOf(change)).verdict,
        20_000,
      );
      expect((await rowOf(first)).verdict).toMatch(what === 'an edit' ? /^(turn|steer)$/ : /^revoked$/);
      const said = await db()
        .selectFrom('wa_inbox')
        .innerJoin('inbox', 'inbox.id', 'wa_inbox.inbox_id')
        .select('inbox.body')
        .where('wa_inbox.message_id', '=', first)
        .execute();
      expect(said.map((each) => each.body).join()).toContain(what === 'an edit' ? 'the new words' : '');
      expect(said.map((each) => each.body).join()).not.toContain('the old words');
    }
  },
);

it('an album of which one caption calls us is one turn with all its pictures, and another album is not for us', async () => {
  const picture = (album: string, caption?: string): proto.IMessage => ({
    imageMessage: { mimetype: 'image/png', ...(caption && { caption }) },
    messageContextInfo: {
      messageAssociation: {
        associationType: proto.MessageAssociation.AssociationType.MEDIA_ALBUM,
        parentMessageKey: { id: album, remoteJid: group, fromMe: false, participant: lid('Ben') },
      },
    },
  });
  const announced = (count: number) => writes('Ben', { albumMessage: { expectedImageCount: count } });
  const [ours, theirs] = [await announced(3), await announced(2)];
  const before = await writes('Ben', picture(ours));
  const other = await writes('Ben', picture(theirs, 'my cat'));
  await until('they wait for a caption', async () =>
    (await Promise.all([ours, theirs, before, other].map(rowOf))).every((row) => row.not_before !== null),
  );
  const calls = await writes('Ben', picture(ours, '@fetch compare these'));
  const after = await writes('Ben', picture(ours));
  const parts = [ours, before, calls, after];
  await until('the album is handled', async () => (await Promise.all(parts.map(rowOf))).every((row) => row.verdict));
  // these pictures name no file, which is said of each that has no caption
  expect((await Promise.all(parts.map(rowOf))).map((row) => row.verdict)).toEqual(['turn', 'told', 'turn', 'told']);
  const inboxIds = await db()
    .selectFrom('wa_inbox')
    .select('inbox_id')
    .distinct()
    .where('message_id', 'in', [ours, calls])
    .execute();
  expect(inboxIds).toHaveLength(1);
  await sql`update wa_inbox set received_at = received_at - interval '1 minute', not_before = now()
    where message_id in (${theirs}, ${other})`.execute(db());
  receiver.wake();
  await until('the other one is left', async () => (await rowOf(theirs)).verdict && (await rowOf(other)).verdict);
  expect([(await rowOf(theirs)).verdict, (await rowOf(other)).verdict]).toEqual(['not_addressed', 'not_addressed']);
});

it('reactions and edits beyond the rate wait, which is said once; "stop" does not, and nothing is lost', async () => {
  const { questionId, shownAs } = await asksFor('MODERATE');
  // so that the window ends while this test runs
  const at = Date.now() - 50_000;
  const first = await writes('Cleo', text('@fetch 1 of many'), 'lid', at);
  const edit = (n: number): proto.IMessage => ({
    protocolMessage: {
      key: { id: first, remoteJid: group, fromMe: false, participant: lid('Cleo') },
      type: proto.Message.ProtocolMessage.Type.MESSAGE_EDIT,
      editedMessage: { conversation: `@fetch ${n} of many` },
    },
  });
  const edits: string[] = [];
  for (let n = 2; n <= 32; n++) edits.push(await writes('Cleo', edit(n), 'lid', at));
  const vote = await writes('Cleo', thumb(shownAs, '👎'), 'lid', at);
  await until('the last edit waits', async () => (await rowOf(edits.at(-1)!)).not_before, 20_000);
  await until('so does the thumb', async () => (await rowOf(vote)).not_before, 20_000);
  expect(await Promise.all([...edits.slice(0, 20), vote].map(async (id) => (await rowOf(id)).verdict))).toEqual([
    ...Array(20).fill('edit'),
    null,
  ]);
  expect(await decision(questionId)).toBeNull();
  expect((await says('Cleo', text('@fetch stop'))).verdict).toBe('stop');
  await until(
    'all are handled',
    async () => (await Promise.all([...edits, vote].map(rowOf))).every(({ verdict }) => verdict !== null),
    40_000,
  );
  expect((await replies()).filter((body) => body.startsWith('That is a lot at once'))).toHaveLength(1);
});
