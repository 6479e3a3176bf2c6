import fc from 'fast-check';
import { expect, it } from 'vitest';
import { limitWaitMs } from '../../../src/domain/model/limits.ts';
import { limitNotice, limitStatus, otherAgents } from '../../../src/domain/tasks/agents/limit-notice.ts';
import { holds } from '../../support/property.ts';

it('a limit without a named end is asked about later and later, at most an hour apart; an overload every minute', () => {
  const waits = (kind: 'limit' | 'overload') =>
    Array.from({ length: 12 }, (_, before) => limitWaitMs(kind, null, before) / 1_000);
  expect(waits('limit')).toEqual([5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 3_600, 3_600, 3_600]);
  expect(waits('overload')).toEqual([5, 10, 20, 40, 60, 60, 60, 60, 60, 60, 60, 60]);
});

it('a named end is waited for, and never longer than a minute more', () =>
  holds(
    fc.property(fc.nat(32 * 86_400_000), fc.nat(100), (named, before) => {
      const wait = limitWaitMs('limit', named, before);
      expect(wait).toBeGreaterThanOrEqual(named);
      expect(wait).toBeLessThanOrEqual(Math.max(named, 60_000));
      // without capacity, nobody can know for hours
      expect(limitWaitMs('overload', named, before)).toBeLessThanOrEqual(20 * 60_000);
    }),
  ));

const task = { harness: 'claude' as const, workspace: 'demo' };
// a day that is gone: the name of today would be left out
const limit = { kind: 'limit' as const, named: true, opensAt: Date.UTC(2020, 10, 26, 14) };

it('the message says until when, and each way on', () => {
  expect(limitNotice(task, limit, { zone: 'Europe/Berlin', others: ['codex'] })).toBe(
    'The agent in demo waits: Claude Code is at its limit until Thu 26 Nov 15:00. I go on then; `now codex` goes on with Codex, `now` tries at once, `stop` ends it.',
  );
  expect(limitNotice(task, { ...limit, named: false }, { zone: 'UTC', others: [] })).toMatch(
    /does not say until when\. I try again at Thu 26 Nov 14:00 UTC/,
  );
  expect(limitNotice(task, { ...limit, kind: 'budget' }, { zone: 'UTC', others: ['codex'] })).toMatch(
    /is used up\. I go on at .*`stop` ends it\.$/,
  );
  expect(limitStatus(task, limit, 'UTC')).toBe(
    'waits for the limit of Claude Code, which ends at Thu 26 Nov 14:00 UTC',
  );
});

it('offers ready agents that have an account of their own', () => {
  const ready = (['claude', 'codex', 'gemini', 'copilot', 'practice'] as const).map((name) => ({
    name,
    ready: name !== 'gemini',
    why: null,
  }));
  expect(otherAgents({ harness: 'codex' }, ready, { FETCH_KENNEL_LOGINS: '' })).toEqual(['claude']);
  expect(otherAgents({ harness: 'codex' }, ready, { FETCH_KENNEL_LOGINS: 'copilot=/x' })).toEqual([
    'claude',
    'copilot',
  ]);
});
