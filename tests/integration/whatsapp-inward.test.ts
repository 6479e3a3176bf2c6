import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { proto } from '@whiskeysockets/baileys';
import { sql } from 'kysely';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepContact, learnMapping } from '../../src/store/whatsapp/contacts.ts';
import { storeReceived } from '../../src/store/whatsapp/inbox.ts';
import { roleLog, script } from '../support/app.ts';
import { until } from '../support/until.ts';
import type { Contact } from '../support/whatsapp/contact.ts';
import { buildMessage, type Content } from '../support/whatsapp/content.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../support/whatsapp-app.ts';

/** Everybody writes in a chat of their own, so that no test waits for another. */
const NAMES = [
  'Ann',
  'Ben',
  'Cleo',
  'Dora',
  'Emil',
  'Fay',
  'Gus',
  'Hana',
  'Ivo',
  'Joan',
  'Kurt',
  'Lena',
  'Max',
  'Nora',
  'Otto',
  'Pia',
  'Quin',
  'Rosa',
] as const;
const RATE_LIMIT = 12;
const HEARD = 'please list the workflows';

let world: WhatsAppApp;
const people = {} as Record<(typeof NAMES)[number], Contact>;
let stranger: Contact;
const folder = mkdtempSync(join(tmpdir(), 'fetch-whisper-'));

/** A program with the command line of whisper.cpp that always hears the same. */
function whisper(): Record<string, string> {
  const bin = join(folder, 'whisper-cli');
  const model = join(folder, 'ggml-test.bin');
  const lines = [
    '#!/bin/sh',
    'while [ $# -gt 0 ]; do [ "$1" = "-of" ] && out="$2"; shift; done',
    `[ -n "$out" ] && printf ' %s\\n' "${HEARD}" > "$out.txt"`,
    'exit 0',
  ];
  writeFileSync(bin, lines.join('\n'));
  chmodSync(bin, 0o755);
  writeFileSync(model, 'model');
  return { WHISPER_BIN: bin, WHISPER_MODEL: model };
}

beforeAll(async () => {
  world = await startWhatsAppApp((fixture) => {
    for (const name of NAMES) people[name] = fixture.contact(name);
    stranger = fixture.contact('Stranger');
    const number = (jid: string) => jid.split('@')[0]!;
    const trusted = [...NAMES.slice(1).map((name) => people[name].pn), fixture.account.pn];
    return {
      WHATSAPP_NUMBER: 'dedicated',
      OWNER_PHONE_NUMBER: number(people.Ann.pn),
      TRUSTED_PHONE_NUMBERS: trusted.map(number).join(','),
      WHATSAPP_RATE_LIMIT: String(RATE_LIMIT),
      WHATSAPP_POLLS: 'true',
      WHATSAPP_PER_MINUTE: '10000',
      ...whisper(),
    };
  });
}, 120_000);
afterAll(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

const shows = (text: string | RegExp) => (each: { shown: { text: string } }) =>
  typeof text === 'string' ? each.shown.text.includes(text) : text.test(each.shown.text);
const shown = (who: Contact, text: string | RegExp) => until(`${who.name} is shown ${text}`, () => who.received.find(shows(text)), 30_000);
const asked = (text: string) => world.app.model.requests().filter((request) => request.user.includes(text));
const verdicts = async (messageId: string) =>
  (await world.app.store.db.selectFrom('wa_inbox').select('verdict').where('message_id', '=', messageId).execute()).map((row) => row.verdict);
const verdictOf = (id: string) => until(`${id} is handled`, async () => (await verdicts(id))[0], 20_000);
const ask = (question: string, options?: string[]) => script([{ call: [['ask_user', { question, ...(options && { options }) }]] }, { say: 'You said: $LAST' }]);
const address = async (who: Contact) =>
  (await world.app.store.db.selectFrom('wa_contacts').select('chat_address').where('lid', '=', who.lid).executeTakeFirstOrThrow()).chat_address;
const turnsOf = async (who: Contact) => {
  const rows = await world.app.store.db
    .selectFrom('turns')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .innerJoin('inbox', 'inbox.turn_id', 'turns.id')
    .select(['turns.id', 'turns.input_summary', 'turns.status'])
    .where('chats.address', '=', await address(who))
    .orderBy('turns.created_at')
    .execute();
  return rows;
};

describe('messages on WhatsApp', () => {
  it('answers the owner, and what comes within a second becomes one turn', async () => {
    const { Ann } = people;
    await Ann.send('the first line');
    await Ann.send('the second line');
    const request = await until('the model is asked', () => asked('the second line')[0], 20_000);
    expect(request.user).toBe('the first line\nthe second line');
    expect(await turnsOf(Ann)).toHaveLength(1);
  });

  it('says "stop" and "help" at once, without the model', async () => {
    const { Ben } = people;
    await Ben.send(script([{ say: 'word '.repeat(400), pace: 100 }]));
    await until('the turn runs', async () => asked('word word').length > 0 || (await turnsOf(Ben)).length > 0, 20_000);
    const { id } = await Ben.send('Stop!');
    await shown(Ben, /Stopped|stop/);
    expect(await verdictOf(id)).toMatch(/stop|reply/);
    await Ben.send('help');
    await shown(Ben, 'interrupts what is running');
  });

  it('answers nothing to a stranger, and neither asks the model nor keeps their address', async () => {
    const before = stranger.received.length;
    const { id } = await stranger.send('@fetch give me everything');
    expect(await verdictOf(id)).toBe('stranger');
    const picture = await stranger.send({ image: Buffer.from('x'), caption: 'look' });
    expect(await verdictOf(picture.id)).toBe('stranger');
    expect(asked('give me everything')).toHaveLength(0);
    expect(stranger.received).toHaveLength(before);
    expect(await world.app.store.db.selectFrom('wa_contacts').select('id').where('lid', '=', stranger.lid).execute()).toHaveLength(0);
    expect(roleLog(world.app, 'gateway')).toContain('ignored what people wrote who may not use this');
  });

  it('takes one person for one, whichever address they write from, and answers in the form that was used', async () => {
    const { Cleo } = people;
    await Cleo.send(script([{ say: 'by lid' }]));
    await shown(Cleo, 'by lid');
    await Cleo.send(script([{ say: 'by number' }]), { addressing: 'pn' });
    expect((await shown(Cleo, 'by number')).addressing).toBe('pn');
    expect(new Set((await turnsOf(Cleo)).map((turn) => turn.status))).toEqual(new Set(['completed']));
    expect(await turnsOf(Cleo)).toHaveLength(2);
  });

  it('knows somebody who may write by the number that WhatsApp told earlier, when a message does not say it', async () => {
    const { Rosa } = people;
    const content = Buffer.from(proto.Message.encode({ conversation: 'who am I?' }).finish());
    const attrs = { t: String(Math.floor(Date.now() / 1000)), notify: 'Rosa' };
    await storeReceived(world.app.store.db, [{ account: 'default', chat: Rosa.lid, participant: '', fromMe: false, messageId: '3AROSA', content, attrs }]);
    await until('the model is asked', () => asked('who am I?')[0], 20_000);
  });

  it('handles a message that is sent twice once, and one that could not be read when it is sent again', async () => {
    const { Dora } = people;
    const { id } = await Dora.send('only once please');
    await until('it is answered', () => asked('only once please').length > 0, 20_000);
    await Dora.send('only once please', { id });
    await Dora.send('healed by a retry', { corrupt: true });
    await until('the second is answered', () => asked('healed by a retry').length > 0, 30_000);
    expect(asked('only once please')).toHaveLength(1);
    expect(await verdicts(id)).toHaveLength(1);
  });

  it('treats the self chat as input, and what is typed to others as talk between people', async () => {
    const { phone } = world.fixture;
    await phone.selfChat(script([{ say: 'note taken' }]));
    await until('the phone shows the answer', () => phone.received.find(shows('note taken')), 30_000);
    const talk = await phone.send(people.Ann, 'see you tomorrow');
    expect(await verdictOf(talk.id)).toBe('owner_typed');
    expect(asked('see you tomorrow')).toHaveLength(0);
  });

  it('answers in a group only when mentioned, quoted or called, and only those who may', async () => {
    const { Emil, Fay } = people;
    const group = world.fixture.group('Team', [Emil, Fay, stranger]);
    const talk = await group.send(Emil, 'lunch?');
    expect(await verdictOf(talk.id)).toBe('not_addressed');
    const alien = await group.send(stranger, { text: '@fetch hi', mentions: [] });
    expect(await verdictOf(alien.id)).toBe('stranger');
    await group.send(Emil, { text: `@${group.me.split('@')[0]} what is up`, mentions: [group.me] });
    const request = await until('the model is asked', () => asked('what is up')[0], 20_000);
    expect(request.user).toBe('Emil: what is up');
    const answer = await until('the group is shown the answer', () => Fay.received.find((each) => each.by === 'client' && each.chat === group.jid), 30_000);
    await group.send(Fay, 'and quoted', { quoted: answer.id });
    expect((await until('the model is asked again', () => asked('and quoted')[0], 20_000)).user).toMatch(/^Fay: > /);
    await group.send(Fay, '@Fetch, and called');
    expect((await until('the model is asked once more', () => asked('and called')[0], 20_000)).user).toBe('Fay: and called');
  });
});

describe('questions on WhatsApp', () => {
  it('are answered by a thumb on the question', async () => {
    const { Gus } = people;
    await Gus.send(ask('Shall I go on with Gus?'));
    const question = await shown(Gus, 'Shall I go on with Gus?');
    await Gus.react(question.id, '👍🏼');
    await shown(Gus, 'You said: yes');
    await Gus.react(question.id, '👎');
    await shown(Gus, 'settled already');
  });

  it('are answered by a quote of exactly that question', async () => {
    const { Hana } = people;
    await Hana.send(ask('Which branch, Hana?'));
    const question = await shown(Hana, 'Which branch, Hana?');
    await Hana.send('main, please', { quoted: question.id });
    await shown(Hana, 'You said: main, please');
  });

  it('are answered by a vote when they were asked as a poll', async () => {
    const { Ivo } = people;
    await Ivo.send(ask('Which colour, Ivo?', ['red', 'blue']));
    const poll = await until('Ivo has the poll', () => Ivo.received.find((each) => each.kind === 'poll'), 30_000);
    await Ivo.vote(poll.id, ['blue']);
    await shown(Ivo, 'You said: blue');
  });

  it('are not answered by a thumb of somebody else', async () => {
    const { Joan } = people;
    await Joan.send(ask('Joan, may I?'));
    const question = await shown(Joan, 'Joan, may I?');
    const { id } = await stranger.send({ proto: { reactionMessage: { key: { id: question.id, remoteJid: stranger.lid, fromMe: false }, text: '👍' } } });
    expect(await verdictOf(id)).toBe('stranger');
    const other = await people.Ben.send({ proto: { reactionMessage: { key: { id: question.id, remoteJid: people.Ben.lid, fromMe: false }, text: '👍' } } });
    expect(await verdictOf(other.id)).toBe('reaction');
    await Joan.react(question.id, '👎');
    await shown(Joan, 'You said: no');
  });
});

describe('files on WhatsApp', () => {
  // noise cannot be made small, so that the picture is seen in the size of a request
  const picture = () =>
    sharp(randomBytes(300 * 200 * 3), { raw: { width: 300, height: 200, channels: 3 } })
      .jpeg({ quality: 90 })
      .toBuffer();
  const stored = async (who: Contact) =>
    await world.app.store.db
      .selectFrom('attachments')
      .innerJoin('threads', 'threads.id', 'attachments.thread_id')
      .innerJoin('chats', 'chats.id', 'threads.chat_id')
      .select(['attachments.kind', 'attachments.mime', 'attachments.text', 'attachments.preview', 'attachments.size', 'attachments.name'])
      .where('chats.address', '=', await address(who))
      .execute();

  it('shows a picture to the model, and keeps it whole', async () => {
    const { Kurt } = people;
    const image = await picture();
    await Kurt.send({ image, caption: 'what is on it?' });
    const request = await until('the model is asked', () => asked('what is on it?')[0], 30_000);
    expect(request.user).toMatch(/\[picture, \d+ kB\]/);
    const [kept] = await stored(Kurt);
    expect(kept).toMatchObject({ kind: 'image', mime: 'image/jpeg', size: image.length });
    expect(kept!.preview!.subarray(0, 2).toString('hex')).toBe('ffd8');
    expect(kept!.preview!.length).toBeGreaterThan(20_000);
    expect(request.bytes).toBeGreaterThan((kept!.preview!.length * 4) / 3);
  });

  it('reads a text document, and hears a voice note', async () => {
    const { Lena } = people;
    await Lena.send({ document: Buffer.from('name,price\nbolt,3'), fileName: 'parts.csv', mimetype: 'text/csv' });
    expect((await until('the model is asked', () => asked('parts.csv')[0], 30_000)).user).toContain('--- parts.csv ---\nname,price\nbolt,3');
    expect((await stored(Lena))[0]).toMatchObject({ kind: 'document', text: 'name,price\nbolt,3', name: 'parts.csv' });
    await Lena.send({ audio: Buffer.from('OggS and so on'), ptt: true, seconds: 75 });
    await shown(Lena, 'Listening to your voice note (1:15 min)');
    await shown(Lena, `I heard: “${HEARD}”`);
    await until('the words are a turn', () => asked(HEARD)[0], 20_000);
  });

  it('says what is wrong with a file that is gone, damaged, too large or nowhere, and never asks another host', async () => {
    const { Max } = people;
    const { faults } = world.fixture;
    let visitors = 0;
    const elsewhere = createServer(() => visitors++).listen(0, '127.0.0.1');
    const host = await until('another host listens', () => elsewhere.address() as AddressInfo | null);
    const send = async (content: Content, fault: (id: string) => void = () => {}) => {
      const id = `3A${Math.random().toString(16).slice(2).toUpperCase().padEnd(14, '0')}`;
      faults.holdInbound(true);
      await Max.send(content, { id });
      fault(id);
      faults.holdInbound(false);
    };
    try {
      const image = await picture();
      await send({ image }, (id) => faults.corruptMedia(id, 'mac'));
      await shown(Max, 'does not match its checksum');
      await send({ image, fileLength: 500 * 1024 * 1024 });
      await shown(Max, 'too large');
      faults.reupload = 'gone';
      const evil = `127.0.0.1:${host.port}`;
      await send({ image, url: `https://${evil}/steal`, directPath: `@${evil}/steal` });
      await shown(Max, 'no longer on WhatsApp');
      await send({ image, caption: 'see below' }, (id) => faults.expireMedia(id));
      await until('the text is answered all the same', () => asked('see below')[0], 60_000);
      faults.reupload = 'again';
      await send({ image, caption: 'uploaded again' }, (id) => faults.expireMedia(id));
      expect((await until('the model is asked', () => asked('uploaded again')[0], 60_000)).user).toContain('[picture');
      expect(visitors).toBe(0);
    } finally {
      elsewhere.close();
    }
  });
});

describe('changed messages on WhatsApp', () => {
  it('are what the model reads when they were changed before it read them', async () => {
    const { Nora } = people;
    const { id } = await Nora.send('deploy to production');
    await Nora.edit(id, 'deploy to staging');
    await until('the model is asked', () => asked('deploy to staging')[0], 20_000);
    expect(asked('deploy to production')).toHaveLength(0);
    const gone = await Nora.send('forget this');
    await Nora.revoke(gone.id);
    await until('it is revoked', async () => (await verdicts(gone.id))[0] === 'revoked', 10_000);
    expect(asked('forget this')).toHaveLength(0);
  });

  it('are thought about anew when they change while the model answers, and stop the turn when they are deleted', async () => {
    const { Cleo } = people;
    const slow = (text: string) => script([{ say: `${text} ${'word '.repeat(40)}`, pace: 100 }]);
    const { id } = await Cleo.send(slow('to the old text'));
    await until('the model answers', () => asked('to the old text')[0], 20_000);
    await Cleo.edit(id, script([{ say: 'to the new text' }]));
    await shown(Cleo, 'to the new text');
    expect(Cleo.received.filter(shows('to the old text'))).toHaveLength(0);
    const gone = await Cleo.send(slow('never to be read'));
    await until('the model answers', () => asked('never to be read')[0], 20_000);
    await Cleo.revoke(gone.id);
    await until('the turn is stopped', async () => (await turnsOf(Cleo)).at(-1)?.status === 'interrupted', 20_000);
    expect(Cleo.received.filter(shows('never to be read'))).toHaveLength(0);
  });

  it('are a note for the next turn when they were read before', async () => {
    const { Otto } = people;
    const { id } = await Otto.send('my number is seven');
    await until('it is answered', async () => (await turnsOf(Otto))[0]?.status === 'completed', 30_000);
    const edit = await Otto.edit(id, 'my number is eight');
    expect(await verdictOf(edit.id)).toBe('edit');
    expect(await turnsOf(Otto)).toHaveLength(1);
    const said = await world.app.store.db.selectFrom('transcript').select('content').where('content', 'like', '%my number is eight%').execute();
    expect(said).toEqual([{ content: '[Otto edited an earlier message. It was: "my number is seven". It reads now: "my number is eight"]' }]);
    // somebody else cannot edit it, whatever key they name
    const forged = await people.Ben.send({
      proto: { protocolMessage: { key: { id, remoteJid: people.Ben.lid, fromMe: true }, type: 14, editedMessage: { conversation: 'forged' } } },
    });
    expect(await verdictOf(forged.id)).toBe('edit');
    expect(await world.app.store.db.selectFrom('transcript').select('id').where('content', 'like', '%forged%').execute()).toHaveLength(0);
  });
});

describe('too much, too old and too strange on WhatsApp', () => {
  it('holds what is beyond the rate, says so once, and answers it as one turn', async () => {
    const { Pia } = people;
    const at = new Date(Date.now() - 55_000);
    const count = RATE_LIMIT + 100;
    for (let n = 1; n <= count; n++) await Pia.send(`flood ${n}`, { at });
    await shown(Pia, 'That is a lot at once');
    const late = await until('the rest is a turn', () => asked(`flood ${RATE_LIMIT + 1}\n`).find((request) => !request.user.startsWith('flood 1\n')), 40_000);
    expect(late.user).toMatch(/Left out here, because it was too much at once: \d+ more messages/);
    await until('all are handled', async () => (await unhandled()) === 0, 20_000);
    expect(Pia.received.filter(shows('That is a lot at once'))).toHaveLength(1);
  });

  it('asks about what is older than twelve hours instead of doing it', async () => {
    const { Quin } = people;
    const at = new Date(Date.now() - 13 * 3_600_000);
    const { id } = await Quin.send('stop', { at });
    await Quin.send('delete the staging database', { at });
    const request = await until('the model is asked', () => asked('delete the staging database')[0], 30_000);
    expect(request.user).toContain('Do not carry out anything');
    expect(request.user).toContain('13 h ago');
    expect(await verdictOf(id)).toBe('old');
  });

  it('takes huge and strange texts without choking on them', async () => {
    const { Joan } = people;
    await Joan.send(`begin ${'x'.repeat(300_000)}`);
    const huge = await until('the model is asked', () => asked('begin xxx')[0], 30_000);
    expect(huge.user.length).toBeLessThan(70_000);
    await Joan.send('safe\u202etxt.exe\u0000 \u2066hidden\u2069');
    await until('the text is clean', () => asked('safetxt.exe hidden')[0], 30_000);
    const broken = await Joan.send('x', { rawBytes: Buffer.from([0x0a, 0xff, 0xff, 0xff]) });
    await Joan.send('still there?');
    await until('the chat goes on', () => asked('still there?')[0], 30_000);
    expect(broken.id).toBeTruthy();
  });

  it('is held up neither by ten thousand messages of strangers nor by as many of one author', async () => {
    const { db } = world.app.store;
    const { Emil, Hana } = people;
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway}/status`, 'utf8'))![1]) / 1024;
    const gateway = world.app.state().roles.find((role) => role.name === 'gateway')!.pid!;
    const before = memory();
    const content = Buffer.from(proto.Message.encode({ conversation: `${'many '.repeat(100)}` }).finish());
    const burst = async (from: Contact, name: string) => {
      const attrs = JSON.stringify({ t: String(Math.floor(Date.now() / 1000) - 55), sender_pn: from.pn, notify: from.name });
      await sql`insert into wa_inbox (account, chat, from_me, message_id, content, attrs)
        select 'default', ${from.lid}, false, ${name} || n, ${content}, ${attrs}::jsonb from generate_series(1, 10000) n`.execute(db);
    };
    await burst(stranger, 'alien');
    await burst(Emil, 'flood');
    await Hana.send('and in between?');
    await until('somebody else is answered', () => asked('and in between?')[0], 30_000);
    await until('all are handled', async () => (await unhandled()) === 0, 60_000);
    const grownMb = memory() - before;
    const bodies = await db.selectFrom('inbox').select('body').where('body', 'like', 'many %').execute();
    expect(bodies.some(({ body }) => /9\d\d\d more messages/.test(body))).toBe(true);
    expect(Emil.received.filter(shows('That is a lot at once'))).toHaveLength(1);
    expect(grownMb).toBeLessThan(150);
  }, 120_000);

  it('says that a message could not be read when its content does not come, and still takes it later', async () => {
    const { db } = world.app.store;
    const { Fay } = people;
    const key = { account: 'default', chat: Fay.lid, participant: '', fromMe: false, messageId: '3ASTUB\u0000' };
    const attrs = { t: String(Math.floor(Date.now() / 1000)), sender_pn: Fay.pn, notify: 'Fay\u0000' };
    await storeReceived(db, [{ ...key, content: null, attrs }]);
    await db.updateTable('wa_inbox').set({ not_before: new Date() }).where('message_id', '=', '3ASTUB').execute();
    await shown(Fay, 'I could not read it');
    const content = Buffer.from(proto.Message.encode({ conversation: 'the content came late' }).finish());
    await storeReceived(db, [{ ...key, content, attrs }]);
    await until('the content is a turn', () => asked('the content came late')[0], 20_000);
  });

  it('keeps nothing of what was not meant for it but the key that a repetition is known by', async () => {
    const rows = await world.app.store.db
      .selectFrom('wa_inbox')
      .select(['content', 'attrs', 'verdict'])
      .where('verdict', 'in', ['stranger', 'not_addressed', 'owner_typed', 'reaction'])
      .execute();
    expect(new Set(rows.map((row) => row.verdict)).size).toBeGreaterThan(2);
    for (const { content, attrs } of rows) expect({ size: content?.length, attrs }).toEqual({ size: 0, attrs: {} });
  });

  it('keeps a file unopened that was begun several times and never ended', async () => {
    const { db } = world.app.store;
    const { Ivo } = people;
    const image = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#000' } })
      .png()
      .toBuffer();
    const message = buildMessage({ image, caption: 'a dangerous picture' }, '3APOISON', world.fixture.media);
    const key = { account: 'default', chat: Ivo.lid, participant: '', fromMe: false, messageId: '3APOISON' };
    const attrs = { t: String(Math.floor(Date.now() / 1000)), sender_pn: Ivo.pn, notify: 'Ivo' };
    await db.transaction().execute(async (tx) => {
      await storeReceived(tx, [{ ...key, content: Buffer.from(proto.Message.encode(message).finish()), attrs }]);
      await tx.updateTable('wa_inbox').set({ attempts: 3 }).where('message_id', '=', key.messageId).execute();
    });
    await until('it is answered', () => asked('a dangerous picture')[0], 20_000);
    const kept = await db.selectFrom('attachments').select('preview').where('size', '=', image.length).executeTakeFirstOrThrow();
    expect(kept.preview).toBeNull();
  });

  it('goes on after the gateway was killed, and answers each message once', async () => {
    const { Ben } = people;
    for (let n = 1; n <= 3; n++) await Ben.send(`through the kill ${n}`);
    await until('a row is stored', async () => (await unhandled()) > 0 || asked('through the kill 3').length > 0, 10_000);
    world.app.kill('gateway');
    await until('all were said', () => asked('through the kill 3').length > 0, 60_000);
    await until('all are handled', async () => (await unhandled()) === 0, 20_000);
    const said = await world.app.store.db.selectFrom('inbox').select('body').where('body', 'like', '%through the kill%').execute();
    const lines = said.flatMap((row) => row.body.split('\n'));
    expect(lines.toSorted()).toEqual(['through the kill 1', 'through the kill 2', 'through the kill 3']);
  });

  const unhandled = async () => (await world.app.store.db.selectFrom('wa_inbox').select('seq').where('handled_at', 'is', null).execute()).length;
});

describe('contacts', () => {
  it('become one when a mapping shows up, and keep the chat that was first', async () => {
    const { db } = world.app.store;
    const byNumber = await keepContact(db, 'test', { lid: null, pn: '1@s.whatsapp.net', name: 'One', replyJid: '1@s.whatsapp.net' });
    const byLid = await keepContact(db, 'test', { lid: '11@lid', pn: null, name: null, replyJid: '11@lid' });
    expect(byLid.id).not.toBe(byNumber.id);
    await learnMapping(db, 'test', { lid: '11@lid', pn: '1@s.whatsapp.net' });
    const one = await keepContact(db, 'test', { lid: '11@lid', pn: null, name: null, replyJid: '11@lid' });
    expect(one).toEqual({ id: byNumber.id, lid: '11@lid', pn: '1@s.whatsapp.net', name: 'One', chatAddress: '1@s.whatsapp.net', replyJid: '11@lid' });
  });

  it('are not merged when a number moves to somebody else, and strangers are not written down', async () => {
    const { db } = world.app.store;
    const person = (lid: string, pn: string) => keepContact(db, 'test', { lid, pn, name: null, replyJid: lid });
    const first = await person('21@lid', '2@s.whatsapp.net');
    const second = await person('22@lid', '3@s.whatsapp.net');
    expect(await person('22@lid', '2@s.whatsapp.net')).toMatchObject({ id: second.id, chatAddress: '22@lid' });
    expect(await keepContact(db, 'test', { lid: '21@lid', pn: null, name: null, replyJid: null })).toMatchObject({ id: first.id, pn: null });
    await learnMapping(db, 'test', { lid: '99@lid', pn: '9@s.whatsapp.net' });
    expect(await db.selectFrom('wa_contacts').select('id').where('account', '=', 'test').where('lid', '=', '99@lid').execute()).toHaveLength(0);
  });
});
