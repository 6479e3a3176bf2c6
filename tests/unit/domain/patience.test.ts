import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  afterFailure,
  FRESH,
  type ModelFailure,
  type Patience,
  patienceFrom,
} from '../../../src/domain/model/patience.ts';
import { clockTime } from '../../../src/domain/time.ts';
import { holds } from '../../support/property.ts';

const MINUTE = 60_000;
const LIMITS = { silenceMs: 10 * MINUTE, waitMs: 360 * MINUTE };

/** The waits of a step whose attempts all fail in the same way. */
function waits(failure: ModelFailure, tookMs = 0, chance = 0): { waits: number[]; last: Patience; limit: boolean } {
  const waited: number[] = [];
  let patience = FRESH;
  for (;;) {
    const verdict = afterFailure(patience, failure, tookMs, LIMITS, chance);
    if (verdict.what === 'give up') return { waits: waited, last: patience, limit: verdict.limit };
    waited.push(verdict.waitMs);
    patience = verdict.next;
  }
}

test('a limit without a time is asked about ever more seldom, for hours', () => {
  const { waits: waited, last, limit } = waits({ type: 'ModelRateLimited' });
  expect(waited.slice(0, 5)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  expect(Math.max(...waited)).toBe(15 * MINUTE);
  expect(last.waitedMs).toBeGreaterThan(340 * MINUTE);
  expect([limit, waited.length < 40]).toEqual([true, true]);
});

test('a named time is waited for to its end, and one beyond the patience is not begun', () => {
  expect(waits({ type: 'ModelRateLimited', retryAfterMs: 300 * MINUTE })).toMatchObject({
    waits: [300 * MINUTE],
    limit: true,
  });
  expect(waits({ type: 'ModelRateLimited', retryAfterMs: 361 * MINUTE })).toMatchObject({ waits: [], limit: true });
  // maintenance says so, too
  expect(waits({ type: 'ModelUnavailable', retryAfterMs: 300 * MINUTE }).waits).toEqual([300 * MINUTE]);
});

test('who was not refused itself looks at the time that others know, and its own pace does not slow it down', () => {
  const asked = afterFailure({ ...FRESH, limits: 9 }, { type: 'ModelRateLimited', retryAfterMs: 1_000 }, 0, LIMITS, 0);
  const held = afterFailure(
    { ...FRESH, limits: 9 },
    { type: 'ModelRateLimited', retryAfterMs: 1_000, held: true },
    0,
    LIMITS,
    0,
  );
  expect(asked).toMatchObject({ waitMs: MINUTE, next: { failures: 1, limits: 10 } });
  expect(held).toMatchObject({ waitMs: 1_000, next: { failures: 1, limits: 9, waitedMs: 1_000 } });
});

test('an endpoint that asks for a second again and again is not asked each second', () => {
  const { waits: waited } = waits({ type: 'ModelRateLimited', retryAfterMs: 1_000 });
  expect([Math.max(...waited), waited.length < 400]).toEqual([MINUTE, true]);
});

test('an endpoint that refuses at once, and one that is silent for minutes, are given up after minutes', () => {
  const refused = waits({ type: 'ModelUnavailable' });
  expect([refused.last.triedMs > 9 * MINUTE, refused.last.triedMs < 11 * MINUTE, refused.limit]).toEqual([
    true,
    true,
    false,
  ]);
  expect(waits({ type: 'ModelUnavailable' }, 5 * MINUTE).waits).toHaveLength(1);
  expect(waits({ type: 'ModelStreamBroken' }, 90_000).waits.length).toBeLessThan(8);
});

test('whatever endpoints say and however long attempts take, a step ends, and waits no shorter than it was asked to', () => {
  const failure = fc.record({
    type: fc.constantFrom('ModelRateLimited', 'ModelUnavailable', 'ModelStreamBroken'),
    retryAfterMs: fc.option(fc.integer({ min: 1, max: 32 * 86_400_000 }), { nil: undefined }),
  }) as fc.Arbitrary<ModelFailure>;
  holds(
    fc.property(
      fc.array(fc.tuple(failure, fc.nat(600_000)), { minLength: 1 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (script, chance) => {
        let patience = FRESH;
        for (let n = 0; n < 2_000; n++) {
          const [said, took] = script[n % script.length]!;
          const verdict = afterFailure(patience, said, took, LIMITS, chance);
          if (verdict.what === 'give up') return;
          expect(verdict.waitMs).toBeGreaterThanOrEqual(said.retryAfterMs ?? 1);
          patience = verdict.next;
          expect(patience.triedMs + patience.waitedMs).toBeLessThanOrEqual(
            LIMITS.silenceMs + LIMITS.waitMs + 2 * MINUTE,
          );
        }
        throw new Error('it never ends');
      },
    ),
  );
});

test('what another version or nobody has left is a fresh beginning', () => {
  for (const stored of [undefined, null, 'x', { modelFailure: 'x' }, { failures: 'x', triedMs: Number.NaN }])
    expect(patienceFrom(stored)).toEqual(FRESH);
  const known = { failures: 3, limits: 2, triedMs: 5, waitedMs: 9 };
  expect(patienceFrom(JSON.parse(JSON.stringify(known)))).toEqual(known);
});

test('a moment of today is a time, one of another day has its day, and only UTC says its name', () => {
  const now = new Date('2026-11-22T20:00:00Z');
  expect(clockTime(new Date('2026-11-22T21:05:00Z'), 'UTC', now)).toBe('21:05 UTC');
  expect(clockTime(new Date('2026-11-22T21:05:00Z'), 'Europe/Berlin', now)).toBe('22:05');
  expect(clockTime(new Date('2026-11-22T23:05:00Z'), 'Europe/Berlin', now)).toBe('Mon 23 Nov 00:05');
});
