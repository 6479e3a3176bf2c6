import { expect, it } from 'vitest';
import { isLeft } from '../../../src/adapters/kennel/runs.ts';
import { HOUR, MINUTE } from '../../../src/domain/time.ts';

const NOW = 1_000 * HOUR;
const command = (until: number) => ({ 'fetch.home': 'own', 'fetch.until': String(until) });
const others = { 'fetch.home': 'other', 'fetch.run': 'tsk_1' };

it.each([
  ['a command that may run', command(NOW + MINUTE), 'running', 2 * HOUR, false],
  ['a command whose time is over', command(NOW - 1), 'running', 2 * HOUR, true],
  ['a command that has just ended', command(NOW + MINUTE), 'exited', 1_000, false],
  ['a command that nobody has looked at', command(NOW + MINUTE), 'exited', MINUTE, true],
  ['a run of this instance, which tends it', { ...others, 'fetch.home': 'own' }, 'exited', 9 * HOUR, false],
  ['a run of another instance', others, 'running', 9 * HOUR, false],
  ['a paused run of another instance', others, 'paused', 9 * HOUR, false],
  ['an ended run that another instance may look at', others, 'exited', MINUTE, false],
  ['an ended run of an instance that was killed', others, 'exited', 2 * HOUR, true],
  ['a run that an instance was killed before it could start', others, 'created', 2 * HOUR, true],
  ['an ended command of another instance', { ...command(NOW - 1), 'fetch.home': 'other' }, 'exited', 1_000, true],
  ['a command of another instance', { ...command(NOW - 1), 'fetch.home': 'other' }, 'running', 1_000, false],
])('%s: is removed or stays', (_, labels, state, agoMs, removed) => {
  expect(isLeft({ labels, state, since: NOW - agoMs }, 'own', NOW)).toBe(removed);
});
