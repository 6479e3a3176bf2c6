import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ENDED_AT, type EndedCall, TOLD_AT, timesInARow } from '../../../src/domain/chat/repetition.ts';
import { holds } from '../../support/property.ts';

const call = (name: string, output: string, args: Record<string, unknown> = {}, shows = false): EndedCall => ({
  name,
  args,
  output,
  shows,
});
const A = [call('read', 'A', { path: 'a' })];
const B = [call('read', 'B', { path: 'b' })];
const C = [call('list', 'C')];
const times = (...steps: EndedCall[][]) => timesInARow(steps);

describe('how often in a row a model did the same', () => {
  it('counts one call with one result', () => {
    expect(times(A, A, A, A)).toEqual([1, 2, 3, 4]);
    expect(times(A, A, B, A, A)).toEqual([1, 2, 1, 2, 2]);
  });

  it('counts two and three calls in turn', () => {
    expect(times(A, B, A, B, A, B)).toEqual([1, 1, 2, 2, 3, 3]);
    expect(times(A, B, C, A, B, C, A)).toEqual([1, 1, 1, 2, 2, 2, 3]);
  });

  it('counts different arguments that show the same', () => {
    const shown = (path: string) => [call('read', '1  A', { path }, true)];
    expect(times(shown('a'), shown('./a'), shown('x/../a'))).toEqual([1, 2, 3]);
    const page = (url: string) => [call('fetch', `${url}\n\nthe page`, { url }, true)];
    expect(times(page('http://h/?n=1'), page('http://h/?n=2'), page('http://h/?n=3'))).toEqual([1, 2, 3]);
    const written = (path: string) => [call('write', 'done', { path })];
    expect(times(written('a'), written('b'), written('c'))).toEqual([1, 1, 1]);
  });

  it('counts an address that refuses the same call again, whatever number is on its page', () => {
    const refused = (page: string, refusal = 'http://h/ answered 429 Too Many Requests') => [
      { ...call('fetch', page, { url: 'http://h/' }, true), refusal },
    ];
    expect(times(refused('request 7a1'), refused('request 8c3'), refused('request 9'))).toEqual([1, 2, 3]);
    expect(times(refused('a'), refused('b', 'http://h/ answered 503'))).toEqual([1, 1]);
  });

  it('does not count a call whose result changes, or that has none', () => {
    expect(times([call('status', '1 %')], [call('status', '2 %')], [call('status', '3 %')])).toEqual([1, 1, 1]);
    const lost = [{ ...call('status', ''), output: null }];
    expect(times(lost, lost, lost)).toEqual([1, 1, 1]);
  });

  it('counts equal calls of one step once', () => {
    expect(times([...A, ...A, ...A], [...A, ...A])).toEqual([1, 2]);
    expect(times([...A, ...B], [...B, ...A], A)).toEqual([1, 2, 1]);
  });

  it('does not take an edit that is tried each time for a loop', () => {
    const edit = (n: number) => [call('edit', 'changed', { n })];
    const test = [call('shell', 'failed', { command: 'test' })];
    const all = timesInARow(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? edit(n) : test)));
    expect(Math.max(...all)).toBeLessThan(TOLD_AT);
  });
});

it('steps of which no two are the same are never a loop, and a loop of any steps is seen whatever came before', () => {
  const step = fc.integer({ min: 0, max: 1_000 });
  const made = (n: number) => [call('read', `${n}`, { n })];
  holds(
    fc.property(
      fc.uniqueArray(step, { maxLength: 12 }),
      fc.uniqueArray(step, { minLength: 1, maxLength: 3 }),
      (before, loop) => {
        expect(Math.max(1, ...timesInARow(before.map(made)))).toBe(1);
        const steps = [...before, ...Array.from({ length: ENDED_AT }, () => loop).flat()];
        expect(timesInARow(steps.map(made)).at(-1)).toBe(ENDED_AT);
      },
    ),
  );
});
