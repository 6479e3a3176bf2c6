import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { createPayloadCodec, UnknownPayloadKey } from '../../../../src/adapters/payloads/codec.ts';
import { payloadKeys } from '../../../../src/adapters/payloads/keys.ts';

const [OLD, NEW] = ['11'.repeat(32), '22'.repeat(32)];
const codecOf = (setting: string | undefined, kept: string[] = []) =>
  createPayloadCodec(() => payloadKeys(setting, kept));
const payload = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const contentOf = (decoded: Payload[]): unknown => defaultPayloadConverter.fromPayload(decoded[0]!);
const text = (sealed: Payload[]): string => Buffer.from(sealed[0]!.data!).toString('latin1');

describe('the codec of payloads', () => {
  it.each([['text'], [{ a: [1, null, 'ä'] }], [null], [''], ['x'.repeat(100_000)]])(
    'gives back what it has encrypted',
    async (value) => {
      const codec = codecOf(OLD);
      const sealed = await codec.encode([payload(value)]);
      expect(contentOf(await codec.decode(sealed))).toEqual(value);
    },
  );

  it('gives back bytes and a missing value', async () => {
    const codec = codecOf(OLD);
    expect(contentOf(await codec.decode(await codec.encode([payload(Buffer.from([0, 255]))])))).toEqual(
      new Uint8Array([0, 255]),
    );
    expect(contentOf(await codec.decode(await codec.encode([payload(undefined)])))).toBeUndefined();
  });

  it('shows nothing of a payload but the id of the key, and never encrypts alike', async () => {
    const codec = codecOf(OLD);
    const [one, other] = [await codec.encode([payload('canary')]), await codec.encode([payload('canary')])];
    expect(text(one)).not.toContain('canary');
    expect(text(one)).not.toContain('json/plain');
    expect(text(one)).not.toBe(text(other));
    expect(Object.keys(one[0]!.metadata!)).toEqual(['encoding', 'encryption-key-id']);
    expect(JSON.stringify(one[0]!.metadata)).not.toContain(OLD);
  });

  it('passes plain payloads of earlier releases through when it decodes', async () => {
    expect(contentOf(await codecOf(OLD).decode([payload('from 0.2.0')]))).toBe('from 0.2.0');
  });

  it('reads what an older key has encrypted, and encrypts with the newest', async () => {
    const before = await codecOf(OLD).encode([payload('kept')]);
    const codec = codecOf(`${NEW}, ${OLD}`);
    expect(contentOf(await codec.decode(before))).toBe('kept');
    await expect(codecOf(OLD).decode(await codec.encode([payload('new')]))).rejects.toThrow(UnknownPayloadKey);
  });

  it('reads on with the keys of the home when the setting says off, and encrypts no more', async () => {
    const before = await codecOf(undefined, [OLD]).encode([payload('kept')]);
    const codec = codecOf('off', [OLD]);
    expect(contentOf(await codec.decode(before))).toBe('kept');
    const after = await codec.encode([payload('plain')]);
    expect(after[0]!.metadata!.encoding).toEqual(payload('plain').metadata!.encoding);
  });

  it('looks at the keys again for one that was added since, as by a process that started after a rotation', async () => {
    let keys = payloadKeys(undefined, [OLD]);
    const codec = createPayloadCodec(() => keys);
    const sealed = await codecOf(NEW).encode([payload('newer')]);
    await expect(codec.decode(sealed)).rejects.toThrow(/which this process does not have/);
    keys = payloadKeys(undefined, [NEW, OLD]);
    expect(contentOf(await codec.decode(sealed))).toBe('newer');
  });

  it('refuses a payload in which one bit was changed', async () => {
    const codec = codecOf(OLD);
    const [sealed] = await codec.encode([payload('whole')]);
    for (const at of [0, 12, sealed!.data!.length - 1]) {
      const data = Buffer.from(sealed!.data!);
      data[at]! ^= 1;
      await expect(codec.decode([{ ...sealed, data }])).rejects.toThrow();
    }
    await expect(codec.decode([{ ...sealed, data: Buffer.alloc(5) }])).rejects.toThrow(/too short/);
  });
});
