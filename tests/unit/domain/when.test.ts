import { expect, test } from 'vitest';
import { span } from '../../../src/domain/time.ts';

test.each([
  [3_000, '3 s'],
  [90_000, '90 s'],
  [300_000, '5 min'],
  [2 * 3_600_000, '2 h'],
  [2.5 * 3_600_000, '2.5 h'],
  [72 * 3_600_000, '72 h'],
])('%i ms are %s', (ms, text) => expect(span(ms)).toBe(text));
