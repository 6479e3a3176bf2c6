import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { proto } from '@whiskeysockets/baileys';
import { sql } from 'kysely';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { storeReceived } from '../../../../../src/store/whatsapp/inbox.ts';
import { until } from '../../../../support/until.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import { buildMessage, type Content } from '../../../../support/whatsapp/content.ts';
import { HEARD, inward, RATE_LIMIT, shows } from '../../../../support/whatsapp/inward.ts';

/** The whole instance: files, floods, and what is too old or too strange. */

const world = inward([
  'Ben',
  'Emil',
  'Fay',
  'Hana',
  'Ivo',
  'Joan',
  'Kurt',
  'Lena',
  'Max',
  'Nils',
  'Olaf',
  'Pia',
  'Quin',
]);
const { people, db, address, shown, asked, verdictOf, unhandled } = world;

describe('files on WhatsApp', () => {
  // noise cannot be made small, so that the picture is seen in the size of a request
  const picture = () =>
    sharp(randomBytes(300 * 200 * 3), { raw: { width: 300, height: 200, channels: 3 } })
      .jpeg({ quality: 90 })
      .toBuffer();
  const stored = async (who: Contact) =>
    await db()
      .selectFrom('attachments')
      .innerJoin('threads', 'threads.id', 'attachments.thread_id')
      .innerJoin('chats', 'chats.id', 'threads.chat_id')
      .select([
        'attachments.kind',
        'attachments.mime',
        'attachments.text',
        'attachments.preview',
        'attachments.size',
        'attachments.name',
      ])
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

  it('defect 14: reads a text document, and hears a voice note', async () => {
    const { Lena } = people;
    await Lena.send({ document: Buffer.from('name,price\nbolt,3'), fileName: 'parts.csv', mimetype: 'text/csv' });
    expect((await until('the model is asked', () => asked('parts.csv')[0], 30_000)).user).toContain(
      '[the text of parts.csv]\n| name,price\n| bolt,3',
    );
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
      // a phone that is off is asked for half a minute
      faults.reupload = 'silent';
      await send({ image, caption: 'asked for' }, (id) => faults.expireMedia(id));
      await Max.send('meanwhile');
      const { user } = await until('what comes after it does not wait for it', () => asked('meanwhile')[0], 20_000);
      expect(user).not.toContain('asked for');
      faults.reupload = 'again';
      await send({ image, caption: 'uploaded again' }, (id) => faults.expireMedia(id));
      expect((await until('the model is asked', () => asked('uploaded again')[0], 60_000)).user).toContain('[picture');
      expect(visitors).toBe(0);
    } finally {
      elsewhere.close();
    }
  });
});

describe('too much, too old and too strange on WhatsApp', () => {
  /** The texts of a chat that no request has shown to the model. */
  const unread = (texts: readonly string[]) => {
    const left = new Set(texts);
    world.app.model.hear((body) => {
      for (const text of left) if (body.includes(text)) left.delete(text);
    });
    return left;
  };

  it('holds what is beyond the rate, says so once, and leaves none of it unread', async () => {
    const { Pia } = people;
    const at = new Date(Date.now() - 55_000);
    const texts = Array.from({ length: RATE_LIMIT + 100 }, (_, n) => `flood ${n}.`);
    const left = unread(texts);
    for (const text of texts) await Pia.send(text, { at });
    await shown(Pia, 'That is a lot at once');
    await until('the model has read every message', () => left.size === 0, 60_000);
    await until('all are handled', async () => (await unhandled()) === 0, 20_000);
    expect(Pia.received.filter(shows('That is a lot at once'))).toHaveLength(1);
  });

  it('reads every message of an outage, in its order, and says once that it does so in parts', async () => {
    const { Nils } = people;
    // written at an ordinary pace
    const begun = Date.now() - 90 * 60_000;
    const texts = Array.from(
      { length: 200 },
      (_, n) => `while you were away ${n}. ${'It was quiet. '.repeat(20).trim()}`,
    );
    const left = unread(texts);
    // all of them lie there at once, as they do when the gateway comes back
    const rows = texts.map((text, n) => ({
      account: 'default',
      chat: Nils.lid,
      participant: '',
      fromMe: false,
      messageId: `3AOUTAGE${n}`,
      content: Buffer.from(proto.Message.encode({ conversation: text }).finish()),
      attrs: { t: String(Math.floor(begun / 1000) + n * 20), sender_pn: Nils.pn, notify: 'Nils' },
    }));
    await db()
      .transaction()
      .execute((tx) => storeReceived(tx, rows));
    await until('the model has read every message', () => left.size === 0, 60_000);
    await until('all are handled', async () => (await unhandled()) === 0, 20_000);
    const said = await db()
      .selectFrom('transcript')
      .select('content')
      .where('content', 'like', 'while you were away%')
      .orderBy('ord')
      .execute();
    expect(said.flatMap(({ content }) => content.split('\n'))).toEqual(texts);
    await shown(Nils, 'That is a lot at once');
    expect(Nils.received.filter(shows('That is a lot at once'))).toHaveLength(1);
  });

  it('reads three long messages of one burst whole', async () => {
    const { Olaf } = people;
    const texts = ['first', 'second', 'third'].map(
      (which) => `the ${which} begins ${`${which} words `.repeat(1_200)}and ends here`,
    );
    const left = unread(texts);
    for (const text of texts) await Olaf.send(text);
    await until('the model has read every message', () => left.size === 0, 60_000);
    await shown(Olaf, 'That is a lot at once');
    expect(Olaf.received.filter(shows('That is a lot at once'))).toHaveLength(1);
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
    const { Emil, Hana } = people;
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway}/status`, 'utf8'))![1]) / 1024;
    const gateway = world.app.state().roles.find((role) => role.name === 'gateway')!.pid!;
    const before = memory();
    const content = Buffer.from(proto.Message.encode({ conversation: `${'many '.repeat(100)}` }).finish());
    const burst = async (from: Contact, name: string) => {
      const attrs = JSON.stringify({
        t: String(Math.floor(Date.now() / 1000) - 55),
        sender_pn: from.pn,
        notify: from.name,
      });
      await sql`insert into wa_inbox (account, chat, from_me, message_id, content, attrs)
        select 'default', ${from.lid}, false, ${name} || n, ${content}, ${attrs}::jsonb from generate_series(1, 10000) n`.execute(
        db(),
      );
    };
    await burst(world.stranger, 'alien');
    await burst(Emil, 'flood');
    await Hana.send('and in between?');
    await until('somebody else is answered', () => asked('and in between?')[0], 60_000);
    await until('all are handled', async () => (await unhandled()) === 0, 60_000);
    const grownMb = memory() - before;
    const bodies = await db().selectFrom('inbox').select('body').where('body', 'like', 'many %').execute();
    expect(bodies.flatMap(({ body }) => body.split('\n'))).toHaveLength(10_000);
    expect(Emil.received.filter(shows('That is a lot at once'))).toHaveLength(1);
    expect(grownMb).toBeLessThan(150);
  }, 240_000);

  it('says that a message could not be read when its content does not come, and still takes it later', async () => {
    const { Fay } = people;
    const key = { account: 'default', chat: Fay.lid, participant: '', fromMe: false, messageId: '3ASTUB\u0000' };
    const attrs = { t: String(Math.floor(Date.now() / 1000)), sender_pn: Fay.pn, notify: 'Fay\u0000' };
    await storeReceived(db(), [{ ...key, content: null, attrs }]);
    await db().updateTable('wa_inbox').set({ not_before: new Date() }).where('message_id', '=', '3ASTUB').execute();
    await shown(Fay, 'I could not read it');
    const content = Buffer.from(proto.Message.encode({ conversation: 'the content came late' }).finish());
    await storeReceived(db(), [{ ...key, content, attrs }]);
    await until('the content is a turn', () => asked('the content came late')[0], 20_000);
  });

  it('keeps a file unopened that was begun several times and never ended', async () => {
    const { Ivo } = people;
    const image = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#000' } })
      .png()
      .toBuffer();
    const message = buildMessage({ image, caption: 'a dangerous picture' }, '3APOISON', world.fixture.media);
    const key = { account: 'default', chat: Ivo.lid, participant: '', fromMe: false, messageId: '3APOISON' };
    const attrs = { t: String(Math.floor(Date.now() / 1000)), sender_pn: Ivo.pn, notify: 'Ivo' };
    await db()
      .transaction()
      .execute(async (tx) => {
        await storeReceived(tx, [{ ...key, content: Buffer.from(proto.Message.encode(message).finish()), attrs }]);
        await tx.updateTable('wa_inbox').set({ attempts: 3 }).where('message_id', '=', key.messageId).execute();
      });
    await until('it is answered', () => asked('a dangerous picture')[0], 20_000);
    const kept = await db()
      .selectFrom('attachments')
      .select('preview')
      .where('size', '=', image.length)
      .executeTakeFirstOrThrow();
    expect(kept.preview).toBeNull();
  });

  it('goes on after the gateway was killed, and answers each message once', async () => {
    const { Ben } = people;
    for (let n = 1; n <= 3; n++) await Ben.send(`through the kill ${n}`);
    await until(
      'a row is stored',
      async () => (await unhandled()) > 0 || asked('through the kill 3').length > 0,
      10_000,
    );
    world.app.kill('gateway');
    await until('all were said', () => asked('through the kill 3').length > 0, 60_000);
    await until('all are handled', async () => (await unhandled()) === 0, 20_000);
    const said = await db().selectFrom('inbox').select('body').where('body', 'like', '%through the kill%').execute();
    const lines = said.flatMap((row) => row.body.split('\n'));
    expect(lines.toSorted()).toEqual(['through the kill 1', 'through the kill 2', 'through the kill 3']);
  });
});
