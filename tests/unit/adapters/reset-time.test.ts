import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Refusal, waitOf } from '../../../src/adapters/model/request/reset-time.ts';
import { holds } from '../../support/property.ts';

/** 2026-11-22 08:00:00 UTC, a second past midnight in no zone of interest. */
const NOW = Date.UTC(2026, 10, 22, 8);
const of = ({ headers, ...refusal }: Omit<Refusal, 'headers'> & { headers?: Record<string, string> }) =>
  waitOf({ headers: new Headers(headers), ...refusal }, NOW);

test.each([
  [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1_500],
  [{ 'retry-after': '2.5' }, 2_500],
  [{ 'retry-after': '7999' }, 7_999_000],
  [{ 'retry-after': 'Sun, 22 Nov 2026 08:00:10 GMT' }, 10_000],
  // their clock is an hour ahead of ours
  [{ 'retry-after': 'Sun, 22 Nov 2026 09:00:10 GMT', date: 'Sun, 22 Nov 2026 09:00:00 GMT' }, 10_000],
  [
    { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-reset-requests': '1s' },
    360_000,
  ],
  [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '12ms' }, 12],
  [
    {
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': '2026-11-22T08:00:31Z',
    },
    31_000,
  ],
  [
    {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(NOW / 1000 + 18_000),
    },
    18_000_000,
  ],
  [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW + 5_000) }, 5_000],
  [{ 'retry-after': '34s' }, 34_000],
  [{ 'retry-after': '2m' }, 120_000],
  [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '15' }, 15_000],
  [{ 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(NOW / 1000 + 15) }, 15_000],
  [{ ratelimit: '"default";r=0;t=12' }, 12_000],
  [{ ratelimit: 'limit=10, remaining=0, reset=12' }, 12_000],
  [{ 'x-ratelimit-reset-after': '9' }, 9_000],
  // a window that is not full says nothing of this refusal
  [{ 'ratelimit-remaining': '3', 'ratelimit-reset': '15', ratelimit: '"default";r=3;t=12' }, undefined],
  [{}, undefined],
])('headers %j name a wait of %s ms', (headers, ms) => {
  expect(of({ headers: headers as Record<string, string> })).toBe(ms);
});

test.each([
  [{ details: [{ '@type': 'x' }, { retryDelay: '26s' }] }, 26_000],
  [{ details: [{ retryDelay: '900ms' }] }, 900],
  // the delay beside a quota of the day is not trusted: midnight in California is
  [
    {
      details: [
        { violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] },
        { retryDelay: '26s' },
      ],
    },
    86_400_000,
  ],
  [{ type: 'usage_limit_reached', resets_at: NOW / 1000 + 13_872 }, 13_872_000],
  [{ resets_in_seconds: 60 }, 60_000],
  [{ details: [{ retryDelay: { seconds: '34', nanos: 5 } }] }, 34_000],
  [{ retry_after: 12 }, 12_000],
  [{ retryAfter: '12s' }, 12_000],
  [{ retry_after_ms: 1_200 }, 1_200],
  [{ metadata: { headers: { 'X-RateLimit-Reset': String(NOW + 3_600_000) } } }, 3_600_000],
  ['a string', undefined],
  [{ details: 'none', metadata: 7, resets_at: null }, undefined],
])('the body %j names a wait of %s ms', (error, ms) => {
  expect(of({ error })).toBe(ms);
});

test.each([
  ['Please try again in 11.054s. Visit the site', 11_054],
  ['Please retry in 34.07s', 34_070],
  ['Usage limit reached, try again in 5 days 22 hours 11 minutes.', ((5 * 24 + 22) * 60 + 11) * 60_000],
  ['resets in 2h 15m', 135 * 60_000],
  ['Try again at 2026-11-22T08:01:00Z.', 60_000],
  ['Rate limited. Wait 20 seconds before the next request.', 20_000],
  ['Please wait for 2 minutes', 120_000],
  ['Please wait', undefined],
  ['Please try again later', undefined],
  ['the file was read in 3s', undefined],
])('"%s" names a wait of %s ms', (text, ms) => {
  expect(of({ text })).toBe(ms);
});

test('a clock in the text is read by the zone that is passed in, and after what headers name', () => {
  expect(of({ text: 'Usage limit reached, try again at 3:05 PM.', zone: 'Europe/Berlin' })).toBe((6 * 60 + 5) * 60_000);
  expect(of({ text: 'Usage limit reached, try again at 3:05 PM.' })).toBe((7 * 60 + 5) * 60_000);
  expect(of({ text: 'Usage limit reached, try again at 3:05 PM.', headers: { 'retry-after': '60' } })).toBe(60_000);
});

test.each([
  '0',
  '-5',
  '-1e9',
  'soon',
  'NaN',
  'Infinity',
  '1e400',
  '9'.repeat(400),
  'Retry 3000',
  'Sat, 01 Jan 3000 00:00:00 GMT',
  'Thu, 01 Jan 1970 00:00:00 GMT',
])('a Retry-After of %s is no time that can be true', (value) => {
  expect(of({ headers: { 'retry-after': value } })).toBeUndefined();
});

test('a wait is believed for a month at most and lies ahead, whatever an endpoint says', () => {
  const anything = fc.oneof(
    fc.string(),
    fc.integer().map(String),
    fc.double().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  );
  const names = [
    'retry-after',
    'retry-after-ms',
    'x-ratelimit-reset',
    'x-ratelimit-reset-tokens',
    'date',
    'anthropic-ratelimit-unified-reset',
  ];
  holds(
    fc.property(
      fc.dictionary(fc.constantFrom(...names), anything),
      fc.anything(),
      fc.string(),
      (known, error, text) => {
        const headers = {
          get: (name: string) =>
            ({ 'x-ratelimit-remaining': '0', 'anthropic-ratelimit-unified-status': 'rejected', ...known })[name] ??
            null,
        };
        const wait = waitOf({ headers, error, text }, NOW);
        if (wait !== undefined) expect(Number.isInteger(wait) && wait > 0 && wait <= 32 * 86_400_000).toBe(true);
      },
    ),
  );
});
