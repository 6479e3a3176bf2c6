import { createHash } from 'node:crypto';
import { downloadMediaMessage, getContentType, type WAMessage } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../../../support/until.ts';
import { mediaDispatcher, type TestClient } from '../../../../support/whatsapp/client.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import type { WhatsAppFixture } from '../../../../support/whatsapp/fixture.ts';
import { type PairedFixture, startPairedFixture } from '../../../../support/whatsapp/paired-fixture.ts';
import type { Talk } from '../../../../support/whatsapp/talk.ts';

let fixture: WhatsAppFixture;
let client: TestClient;
let t: Talk;
let bob: Contact;

let paired: PairedFixture;

beforeAll(async () => {
  paired = await startPairedFixture();
  ({ fixture, client, bob, t } = paired);
});
afterAll(() => paired?.close());

const download = (message: WAMessage) =>
  downloadMediaMessage(message, 'buffer', { options: { dispatcher: mediaDispatcher(fixture) } as never });

it.each([
  ['image', { image: Buffer.from('a picture'), caption: 'look' }],
  ['audio', { audio: Buffer.from('a voice'), ptt: true, seconds: 3 }],
  ['document', { document: Buffer.from('a paper'), fileName: 'paper.pdf', mimetype: 'application/pdf' }],
] as const)('brings a contact’s %s', async (kind, content) => {
  const { id } = await bob.send(content);
  const message = await client.message(id);
  expect(getContentType(message.message!)).toBe(`${kind}Message`);
  expect((await download(message)).toString()).toBe(String((content as Record<string, unknown>)[kind]));
});

it.each([
  ['image', { image: Buffer.from('drawn here'), caption: 'mine', jpegThumbnail: '' }],
  [
    'audio',
    {
      audio: Buffer.from('spoken here'),
      ptt: true,
      seconds: 2,
      mimetype: 'audio/ogg; codecs=opus',
      waveform: new Uint8Array(64),
    },
  ],
  ['document', { document: Buffer.from('written here'), mimetype: 'text/plain', fileName: 'notes.txt' }],
] as const)('takes the client’s %s and checks its MAC and hashes', async (kind, content) => {
  const { key } = await t.say(bob.lid, content as never);
  const { media } = await t.arrived(bob, key.id!);
  expect(media?.error).toBeNull();
  expect(media?.bytes?.toString()).toBe(String((content as Record<string, unknown>)[kind]));
});

it('expires files, and uploads them again on request', async () => {
  const { id } = await bob.send({ image: Buffer.from('old picture') });
  const message = await client.message(id);
  fixture.faults.expireMedia(id);
  await expect(download(message)).rejects.toMatchObject({ output: { statusCode: 410 } });
  await client.sock.updateMediaMessage(message);
  expect((await download(message)).toString()).toBe('old picture');
  fixture.faults.reupload = 'gone';
  await expect(client.sock.updateMediaMessage(message)).rejects.toThrow();
  fixture.faults.reupload = 'again';
});

it('stalls and fails uploads', async () => {
  fixture.faults.stallUploads();
  let sent = false;
  const sending = t.say(bob.lid, { document: Buffer.from('slow'), mimetype: 'text/plain' }).then((message) => {
    sent = true;
    return message;
  });
  await until('the upload waits', () => fixture.media.stalledUploads === 1, 5_000);
  expect(sent).toBe(false);
  fixture.faults.stallUploads(false);
  await t.arrived(bob, (await sending).key.id!);
  fixture.faults.failUploads(1);
  await expect(t.say(bob.lid, { document: Buffer.from('lost'), mimetype: 'text/plain' })).rejects.toThrow(
    'upload failed',
  );
});

it('damages files so that only a MAC or a hash tells', async () => {
  for (const how of ['mac', 'hash'] as const) {
    const { id } = await bob.send({ document: Buffer.from('the real content') });
    const { documentMessage } = (await client.message(id)).message!;
    fixture.faults.corruptMedia(id, how);
    const blob = fixture.media.read(documentMessage!.directPath!)!;
    expect(createHash('sha256').update(blob).digest().equals(documentMessage!.fileEncSha256!)).toBe(false);
  }
});
