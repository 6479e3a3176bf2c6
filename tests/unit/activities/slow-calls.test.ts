import { describe, expect, it } from 'vitest';
import { SlowCalls } from '../../../src/activities/task/run/slow-calls.ts';
import type { LogLine } from '../../../src/contracts/kennel.ts';
import { MINUTE, SECOND } from '../../../src/domain/time.ts';

type Tool = Extract<LogLine, { type: 'tool' }>;
let seq = 0;
const tool = (id: string, status: Tool['status'], more: Partial<Tool> = {}): Tool => ({
  type: 'tool',
  seq: ++seq,
  at: '2026-01-01T00:00:00Z',
  step: 1,
  id,
  title: `call ${id}`,
  kind: 'execute',
  status,
  ...more,
});

/** Looks every second, and says at which minutes a call was told of. */
function told(calls: SlowCalls, from: number, minutes: number): number[] {
  const at: number[] = [];
  for (let now = from + SECOND; now <= from + minutes * MINUTE; now += SECOND)
    for (const _ of calls.due(now)) at.push((now - from) / MINUTE);
  return at;
}

describe('a call of an agent that takes long', () => {
  it('is told of at growing intervals for as long as it runs', () => {
    const calls = new SlowCalls(0);
    calls.take(tool('a', 'pending'));
    calls.take(tool('a', 'in_progress'));
    expect(told(calls, 0, 200)).toEqual([10, 20, 40, 80, 160]);
    calls.take(tool('a', 'completed'));
    expect(told(calls, 200 * MINUTE, 400)).toEqual([]);
  });

  it('counts only the time in which its task runs', () => {
    const calls = new SlowCalls(0);
    calls.take(tool('a', 'in_progress'));
    expect(told(calls, 0, 9)).toEqual([]);
    // a pause of a day
    expect(calls.due(1500 * MINUTE)).toEqual([]);
    expect(told(calls, 1500 * MINUTE, 2)).toHaveLength(1);
  });

  it('is compared with its kind, and with the same call before', () => {
    const calls = new SlowCalls(0);
    calls.take(tool('read', 'in_progress', { kind: 'read' }));
    expect(told(calls, 0, 6)).toEqual([5]);
    calls.take(tool('read', 'completed', { kind: 'read' }));
    calls.take(tool('one', 'in_progress', { title: 'npm test' }));
    expect(told(calls, 6 * MINUTE, 1)).toEqual([]);
    calls.take(tool('one', 'completed', { title: 'npm test' }));
    calls.take(tool('two', 'in_progress', { title: 'npm test' }));
    expect(told(calls, 7 * MINUTE, 4)).toEqual([3]);
    calls.take(tool('two', 'failed', { title: 'npm test' }));
    calls.take(tool('three', 'in_progress', { title: 'npm test' }));
    expect(told(calls, 11 * MINUTE, 20)).toEqual([12]);
  });

  it('is over when its container is', () => {
    const calls = new SlowCalls(0);
    calls.take(tool('a', 'in_progress'));
    calls.take({ type: 'started', seq: ++seq, at: '', step: 2, harness: 'practice', version: null });
    expect(told(calls, 0, 60)).toEqual([]);
  });
});
