import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY } from '../../../../../src/domain/time.ts';
import { createPacer, waitFor } from '../../../../../src/gateway/channels/shared/pacing.ts';
import { messageIdOf } from '../../../../../src/gateway/channels/whatsapp/outbound/parts.ts';
import { refusalOf } from '../../../../../src/gateway/channels/whatsapp/outbound/send-part.ts';
import { holds } from '../../../../support/property.ts';

describe('the id of an outgoing message', () => {
  it('is the same for the same part of the same row, in the form of the web client', () => {
    expect(messageIdOf('out_1_answer', 0)).toBe(messageIdOf('out_1_answer', 0));
    holds(fc.property(fc.string(), fc.nat(50), (row, part) => /^3EB0[0-9A-F]{18}$/.test(messageIdOf(row, part))));
  });

  it('differs between rows and between parts', () => {
    const ids = ['a', 'b', 'out_1', 'out_11'].flatMap((row) => [0, 1, 11].map((part) => messageIdOf(row, part)));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('pacing', () => {
  const limits = { paceMs: 1000, perMinute: 20, perDay: 1000 };
  const nobody = new AbortController().signal;

  it('lets the first message go after a small random delay', () => {
    expect(waitFor([], 5000, limits, 0)).toBe(0);
    expect(waitFor([], 5000, limits, 0.5)).toBe(500);
  });

  it('is off when its least time is 0', () => {
    expect(waitFor(Array(5000).fill(5000), 5000, { ...limits, paceMs: 0 }, 0.9)).toBe(0);
  });

  it('never sends more in a second, a minute or a day than is allowed', () => {
    const many = { paceMs: 1000, perMinute: 5, perDay: 30 };
    holds(
      fc.property(
        fc.array(fc.tuple(fc.nat(20_000), fc.double({ min: 0, max: 0.999, noNaN: true })), {
          minLength: 40,
          maxLength: 80,
        }),
        (asks) => {
          const sent: number[] = [];
          let now = 0;
          for (const [later, random] of asks) {
            now += later;
            sent.push(Math.max(now, sent.at(-1) ?? 0) + waitFor(sent, Math.max(now, sent.at(-1) ?? 0), many, random));
          }
          for (const [index, at] of sent.entries()) {
            if (index >= 1) expect(at - sent[index - 1]!).toBeGreaterThanOrEqual(1000);
            if (index >= 5) expect(at - sent[index - 5]!).toBeGreaterThanOrEqual(60_000);
            if (index >= 30) expect(at - sent[index - 30]!).toBeGreaterThanOrEqual(DAY);
          }
        },
      ),
      { runs: 50 },
    );
  });

  it('goes on where the last process was, and gives a long wait back to the task queue', async () => {
    const now = Date.now();
    const full = createPacer(limits, async () => Array.from({ length: 20 }, (_, index) => now - 1000 + index));
    await expect(full.take(nobody)).rejects.toMatchObject({
      name: 'ChannelAway',
      retryAfterMs: expect.closeTo(59_500, -4),
    });
  });

  it('says when the day is full', async () => {
    let told = 0;
    const full = createPacer(
      { ...limits, perDay: 3 },
      async () => [1, 2, 3].map((each) => Date.now() - each * 10_000),
      { onDayFull: () => told++ },
    );
    await expect(full.take(nobody)).rejects.toMatchObject({ name: 'ChannelAway', retryAfterMs: 600_000 });
    expect(told).toBe(1);
  });

  it('gives its place back when the send was cancelled', async () => {
    const pacer = createPacer({ ...limits, paceMs: 20_000 }, async () => [Date.now()], { random: () => 0 });
    await expect(pacer.take(AbortSignal.abort())).rejects.toThrow(/abort/i);
    const other = createPacer({ ...limits, paceMs: 20 }, async () => [], { random: () => 0 });
    await other.take(nobody);
    await other.take(nobody);
  });
});

describe('a refused message', () => {
  it('is not sent again after 463, and nothing else is sent to this chat for a while', () => {
    expect(refusalOf('463', 1)).toMatchObject({ kind: 'failed', chatPauseMs: expect.any(Number) });
  });

  it.each(['402', '403', '406'])('is kept after %s, and stops its own chat alone, longer each time', (code) => {
    const pauses = [1, 2, 3, 4, 40].map((attempt) => refusalOf(code, attempt));
    expect(pauses.map((refusal) => 'chatPauseMs' in refusal && refusal.chatPauseMs)).toEqual(
      [1, 4, 16, 60, 60].map((minutes) => minutes * 60_000),
    );
    for (const refusal of pauses) expect(refusal).toMatchObject({ kind: 'later' });
    for (const refusal of pauses) expect(refusal).not.toHaveProperty('pauseMs');
  });

  it('is sent once more with fresh devices after 479', () => {
    expect(refusalOf('479', 1).kind).toBe('devices');
    expect(refusalOf('479', 3).kind).toBe('failed');
  });

  it('makes everything wait after 429, and is kept', () => {
    expect(refusalOf('429', 7)).toMatchObject({ kind: 'later', pauseMs: expect.any(Number) });
  });

  it('is given up after some attempts with a code that nobody knows', () => {
    expect(refusalOf('500', 1).kind).toBe('later');
    expect(refusalOf('500', 4).kind).toBe('failed');
  });
});
