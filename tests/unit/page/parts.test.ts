import { describe, expect, it } from 'vitest';
import type { LogLine } from '../../../src/contracts/kennel.ts';
import { readSchedule } from '../../../src/domain/chat/words/schedule-words.ts';
import { diffLines, looksLikeDiff } from '../../../src/domain/text/diff.ts';
import { ago, bytes, clock, duration, moment, money, tokens } from '../../../src/page/shared/figures.ts';
import { backoffMs } from '../../../src/page/shared/server/sse.ts';
import { found, stateOf, type ThreadSummary } from '../../../src/page/shared/summaries.ts';
import { niceStep, plotOf } from '../../../src/page/spend/plot.ts';
import { NO_LOG, withLines } from '../../../src/page/tasks/log-entries.ts';
import { texts } from '../../../src/page/texts.ts';

const DIFF = [
  'diff --git a/x b/x',
  '--- a/x',
  '+++ b/x',
  '@@ -1,2 +1,2 @@',
  ' same',
  '-old',
  '+new',
  '+++ text that begins with signs',
].join('\n');

describe('a difference', () => {
  it('says of each line what it is', () =>
    expect(diffLines(DIFF).map(({ kind }) => kind)).toEqual([
      'file',
      'file',
      'file',
      'hunk',
      'same',
      'removed',
      'added',
      'added',
    ]));

  it('marks the words of a line that changed, where as many lines came as went', () => {
    const marks = (diff: string) =>
      diffLines(diff).map(({ text, changed }) => (changed ? text.slice(changed[0], changed[1]) : null));
    expect(marks('@@ -1 +1 @@\n-const days = 3;\n+const days = 14;')).toEqual([null, '3', '14']);
    expect(marks('@@ -1 +1 @@\n-all of it\n+something else')).toEqual([null, null, null]);
    expect(marks('@@ -1 +1,2 @@\n-one\n+one\n+two')).toEqual([null, null, null, null]);
  });

  it('is not seen in a list or a command', () => {
    expect(looksLikeDiff(DIFF)).toBe(true);
    expect(looksLikeDiff('- one\n- two\n- three')).toBe(false);
    expect(looksLikeDiff('rm -rf build')).toBe(false);
  });
});

describe('figures', () => {
  it('are short', () => {
    expect([0, 0.001, 1.5, 1234.5].map(money)).toEqual(['$0', '<$0.01', '$1.50', '$1,235']);
    expect([999, 1_234, 12_345, 1_500_000].map(tokens)).toEqual(['999', '1.2k', '12k', '1.5M']);
    expect([12, 20_480, 5e6].map(bytes)).toEqual(['12 B', '20 kB', '5.0 MB']);
    expect([5_000, 180_000, 7_500_000, 100 * 3_600_000].map(duration)).toEqual([
      '5 s',
      '3 min',
      '2 h 5 min',
      '4 d 4 h',
    ]);
  });

  it('say how long ago something was, and how soon it will be', () => {
    const now = Date.UTC(2026, 5, 15, 12);
    expect([now - 5_000, now - 180_000, now - 7_200_000, now + 600_000].map((at) => ago(at, now))).toEqual([
      'just now',
      '3 min ago',
      '2 h ago',
      'in 10 min',
    ]);
    const dates = [new Date(2026, 2, 12, 8, 5), new Date(2025, 10, 3, 23, 59)].map(Number);
    expect(dates.map((at) => ago(at, now))).toEqual(['12 Mar', '3 Nov 2025']);
    expect(dates.map(moment)).toEqual(['Thu 12 Mar, 08:05', 'Mon 3 Nov, 23:59']);
    expect(dates.map(clock)).toEqual(['08:05', '23:59']);
  });
});

describe('the example in the field for a new schedule', () => {
  it('is a schedule as it stands there', () =>
    expect(readSchedule(texts.schedules.example)).toEqual({ schedule: '0 8 * * *', what: 'any news?' }));
});

describe('the plot of what was spent', () => {
  it('has lines at round amounts, above the highest day', () => {
    expect([0.07, 1, 3.2, 42, 999].map(niceStep)).toEqual([0.02, 0.2, 1, 10, 200]);
    const { bars, lines } = plotOf(
      [
        { label: 'a', parts: [1, 2] },
        { label: 'b', parts: [0, 0] },
      ],
      100,
      60,
    );
    expect(lines.at(-1)!.amount).toBeGreaterThanOrEqual(3);
    expect(bars[0]!.parts[1]!.y + bars[0]!.parts[1]!.height).toBeCloseTo(bars[0]!.parts[0]!.y);
    expect(bars[1]!.parts.every(({ height }) => height === 0)).toBe(true);
  });

  it('can be empty', () => expect(plotOf([], 100, 60).bars).toEqual([]));
});

describe('the log of a task', () => {
  const line = (seq: number, more: object): LogLine =>
    ({ seq, at: '2026-01-01T00:00:00Z', step: 1, ...more }) as LogLine;
  const lines = [
    line(1, { type: 'text', messageId: 'm', text: 'I ' }),
    line(2, { type: 'tool', id: 't', title: 'edit a.ts', kind: 'edit', status: 'in_progress', detail: '+x' }),
    line(3, { type: 'text', messageId: 'm', text: 'work' }),
    line(4, { type: 'tool', id: 't', title: 'edit a.ts', kind: 'edit', status: 'completed' }),
    line(5, { type: 'something-new' }),
  ];

  it('joins the chunks of a message and the states of a call', () => {
    const { entries, seq } = withLines(NO_LOG, lines);
    expect(entries.map(({ kind, text, status, detail }) => [kind, text, status, detail])).toEqual([
      ['text', 'I work', null, null],
      ['tool', 'edit a.ts', 'completed', '+x'],
    ]);
    expect(seq).toBe(5);
  });

  it('counts each line once', () => {
    const once = withLines(NO_LOG, lines);
    expect(withLines(withLines(NO_LOG, lines.slice(0, 3)), lines)).toEqual(once);
    expect(withLines(once, lines)).toBe(once);
  });
});

describe('the list of chats', () => {
  const chat = (over: Partial<ThreadSummary>) =>
    ({
      id: 'thr_1',
      label: 'Ann',
      title: 'Ann',
      preview: 'hello',
      state: 'idle',
      latest_turn_status: 'completed',
      ...over,
    }) as ThreadSummary;

  it('finds chats by all of the words', () => {
    const chats = [chat({ id: 'a', preview: 'lunch on friday' }), chat({ id: 'b', preview: 'lunch' })];
    expect(found(chats, 'LUNCH fri').map(({ id }) => id)).toEqual(['a']);
    expect(found(chats, ' ')).toHaveLength(2);
  });

  it('shows that the last turn failed only while nothing else happens', () => {
    expect(stateOf(chat({ latest_turn_status: 'failed' }))).toBe('failed');
    expect(stateOf(chat({ latest_turn_status: 'failed', state: 'working' }))).toBe('working');
  });
});

it('waits longer before each attempt to connect, and never more than some seconds', () => {
  const waits = [1, 2, 3, 4, 5, 6, 50].map((attempt) => backoffMs(attempt, 0.5));
  expect(waits).toEqual([...waits].sort((a, b) => a - b));
  expect(Math.max(...waits)).toBeLessThanOrEqual(6_500);
});
