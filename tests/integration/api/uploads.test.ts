import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Uploaded } from '../../../src/contracts/owner.ts';
import type { ThreadRecord } from '../../../src/contracts/records.ts';
import { send } from '../../conformance/golden.ts';
import { type OwnerApi, startOwnerApi } from '../../support/owner-api.ts';

let owner: OwnerApi;
let thread: string;
beforeAll(async () => {
  owner = await startOwnerApi();
  thread = (await owner.ask<ThreadRecord>('POST', '/v1/threads', {})).body.id;
}, 120_000);
afterAll(() => owner?.close());

async function upload(
  data: Buffer | string,
  {
    name,
    type = 'application/octet-stream',
    to = thread,
    key,
  }: { name?: string; type?: string; to?: string; key?: string } = {},
) {
  const headers = { Authorization: 'Bearer tok-owner', 'Content-Type': type, ...(key && { 'Idempotency-Key': key }) };
  const query = name === undefined ? '' : `?name=${encodeURIComponent(name)}`;
  const { status, body } = await send(owner.api.port, 'POST', `/v1/threads/${to}/attachments${query}`, headers, data);
  return { status, text: body, file: status === 201 ? (JSON.parse(body) as Uploaded) : null };
}
/** The smallest PNG. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

it('takes a picture and a text, and a message carries them to the model', async () => {
  const picture = (await upload(PNG, { name: 'shot.png', type: 'image/png' })).file!;
  expect(picture).toMatchObject({ kind: 'image', mime: 'image/png', size: PNG.length });
  const text = (await upload('hello', { name: 'note.txt', type: 'text/plain' })).file!;
  expect(text).toMatchObject({ kind: 'document', name: 'note.txt' });
  const said = await owner.ask<{ turn_id: string }>('POST', `/v1/threads/${thread}/messages`, {
    text: 'look',
    attachment_ids: [picture.id, text.id],
  });
  expect(said.status).toBe(202);
  const { db } = owner.api.store;
  const message = await db
    .selectFrom('transcript')
    .select(['content', 'attachment_ids'])
    .where('turn_id', '=', said.body.turn_id)
    .executeTakeFirstOrThrow();
  expect(message).toEqual({
    content: 'look\n[picture, 1 kB]\n[document note.txt, 1 kB]',
    attachment_ids: [picture.id, text.id],
  });
  // a screen that follows the thread shows them at once
  const events = await db
    .selectFrom('events')
    .select('payload')
    .where('turn_id', '=', said.body.turn_id)
    .where('item_id', 'is not', null)
    .execute();
  expect(events.length).toBeGreaterThan(0);
  for (const { payload } of events)
    expect(payload).toMatchObject({
      item: { metadata: { attachments: [{ id: picture.id }, { id: text.id, name: 'note.txt' }] } },
    });
  const stored = await db
    .selectFrom('attachments')
    .select(['text', 'preview'])
    .where('id', 'in', [picture.id, text.id])
    .orderBy('kind')
    .execute();
  expect([stored[0]!.text, stored[1]!.preview !== null]).toEqual(['hello', true]);
});

it('stores a file once for one Idempotency-Key', async () => {
  const first = await upload('once', { key: 'k1', name: 'a.txt' });
  expect((await upload('once', { key: 'k1', name: 'a.txt' })).file).toEqual(first.file);
});

it('keeps only the end of a hostile name', async () => {
  const names = ['../../etc/passwd', 'C:\\Windows\\evil.txt', 'in\u202evisi\u0000ble.txt', '..', 'x'.repeat(3_000)];
  const kept = await Promise.all(names.map(async (name) => (await upload('x', { name })).file!.name));
  expect(kept.slice(0, 2)).toEqual(['passwd', 'evil.txt']);
  expect(kept[2]).not.toMatch(/[\u202e\u0000]/);
  expect([kept[3], kept[4]!.length < 300]).toEqual([null, true]);
});

it('says what is wrong: empty, not what it is said to be, too large, no such thread', async () => {
  expect(await upload('')).toMatchObject({ status: 400, text: expect.stringContaining('The file is empty') });
  expect(await upload('no picture', { type: 'image/png' })).toMatchObject({
    status: 415,
    text: expect.stringContaining('That is no picture'),
  });
  expect(await upload(PNG.subarray(0, 40), { type: 'image/png' })).toMatchObject({
    status: 415,
    text: expect.stringContaining('cannot be opened'),
  });
  expect(await upload(Buffer.alloc(33 * 1024 * 1024, 'a'))).toMatchObject({
    status: 413,
    text: expect.stringContaining('at most 32 MB of a document'),
  });
  expect(await upload('x', { to: 'thr_none' })).toMatchObject({ status: 404 });
});

it('is not carried into another thread', async () => {
  const file = (await upload('mine')).file!;
  const { body: other } = await owner.ask<ThreadRecord>('POST', '/v1/threads', {});
  expect(
    (await owner.ask('POST', `/v1/threads/${other.id}/messages`, { text: 'see', attachment_ids: [file.id] })).status,
  ).toBe(404);
  expect((await owner.ask('POST', `/v1/threads/${thread}/messages`, { text: '' })).status).toBe(400);
});
