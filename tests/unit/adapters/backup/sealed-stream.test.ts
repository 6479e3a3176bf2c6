import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { BackupUnreadable, CHUNK_BYTES, seal, unseal } from '../../../../src/adapters/backup/sealed-stream.ts';

const SECRET = 'correct horse';
const HEADER = 47;
const FRAME = 20;

async function all(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  const read: Buffer[] = [];
  for await (const part of parts) read.push(part);
  return Buffer.concat(read);
}
const sealed = (content: Buffer): Promise<Buffer> => all(seal(SECRET, [content]));
const opened = (file: Buffer, secret = SECRET): Promise<Buffer> => all(unseal(secret, [file]));

test.each([0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])(
  'gives back a content of %i bytes',
  async (bytes) => {
    const content = randomBytes(bytes);
    expect((await opened(await sealed(content))).equals(content)).toBe(true);
  },
);

test('does not depend on how the file arrives', async () => {
  const file = await sealed(Buffer.from('words'));
  const bytes = [...file].map((byte) => Buffer.of(byte));
  expect((await all(unseal(SECRET, bytes))).toString()).toBe('words');
});

test('refuses a file that was cut at any byte', { timeout: 600_000 }, async () => {
  const file = await sealed(Buffer.from('words'));
  for (let end = 0; end < file.length; end += 1)
    await expect(opened(file.subarray(0, end))).rejects.toThrow(BackupUnreadable);
});

test('refuses a file with any byte changed', { timeout: 600_000 }, async () => {
  const file = await sealed(Buffer.from('words'));
  for (let at = 0; at < file.length; at += 1) {
    const changed = Buffer.from(file);
    changed[at]! ^= 1;
    await expect(opened(changed)).rejects.toThrow(BackupUnreadable);
  }
});

test('refuses another passphrase, and anything behind the end', async () => {
  const file = await sealed(Buffer.from('words'));
  await expect(opened(file, 'another')).rejects.toThrow(BackupUnreadable);
  await expect(opened(Buffer.concat([file, Buffer.of(0)]))).rejects.toThrow(BackupUnreadable);
  await expect(opened(Buffer.concat([file, file.subarray(HEADER)]))).rejects.toThrow(BackupUnreadable);
});

test('refuses chunks that were exchanged, left out, repeated, or taken from another file', async () => {
  const content = randomBytes(3 * CHUNK_BYTES);
  const [file, other] = await Promise.all([sealed(content), sealed(content)]);
  const chunk = (of: Buffer, n: number) =>
    of.subarray(HEADER + n * (CHUNK_BYTES + FRAME), HEADER + (n + 1) * (CHUNK_BYTES + FRAME));
  const made = (...chunks: Buffer[]) => Buffer.concat([file.subarray(0, HEADER), ...chunks]);
  const [a, b, c] = [chunk(file, 0), chunk(file, 1), chunk(file, 2)];
  expect((await opened(made(a, b, c))).equals(content)).toBe(true);
  for (const chunks of [[b, a, c], [a, c], [a, b], [a], [a, b, b], [a, b, c, c], [a, chunk(other, 1), c]])
    await expect(opened(made(...chunks))).rejects.toThrow(BackupUnreadable);
});
