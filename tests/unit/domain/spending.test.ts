import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { aboutQuestion, askForMore, nearText } from '../../../src/domain/model/budget-texts.ts';
import { taskBreach, taskBudget, taskUse } from '../../../src/domain/model/budgets.ts';
import {
  type BudgetFacts,
  budgetsOf,
  estimateText,
  grantFor,
  nearlyUsedUp,
  usedUp,
  withMore,
} from '../../../src/domain/model/spending.ts';
import { HOUR } from '../../../src/domain/time.ts';

const config = loadConfig();
const none = { tokens: 0, microUsd: 0 };
const NOW = Date.UTC(2026, 10, 26, 12);
const facts = (change: Partial<BudgetFacts> = {}): BudgetFacts => ({
  of: 'turn_1',
  account: 'api/a',
  cron: null,
  today: '2026-11-26',
  month: '2026-11',
  dayEndsAt: NOW + 12 * HOUR,
  monthEndsAt: NOW + 120 * HOUR,
  own: none,
  day: none,
  tasks: none,
  monthly: none,
  schedule: none,
  grants: [],
  ...change,
});
const usd = (amount: number) => ({ tokens: 1, microUsd: amount * 1_000_000 });
const cron = { id: 'cron_1', name: 'Morning' };

describe('a budget', () => {
  it.each([
    ['turn', { own: usd(5) }, 'I have spent $5 of $5 on this answer. Continue for $5 more?'],
    ['turn', { day: usd(25.5) }, 'I have spent $25.50 of $25 today. Continue for $25 more?'],
    ['turn', { monthly: usd(250) }, 'I have spent $250 of $250 this month. Continue for $250 more?'],
    ['turn', { schedule: usd(5), cron }, 'The schedule “Morning” has spent $5 of $5 today. Continue for $5 more?'],
    ['task', { own: usd(10) }, 'This coding task has spent $10 of $10. Continue for $10 more?'],
    ['task', { tasks: usd(50) }, 'The coding tasks of this chat have spent $50 of $50 today. Continue for $50 more?'],
    [
      'turn',
      { own: { tokens: 2_000_000, microUsd: 0 } },
      'I have used 2,000,000 of 2,000,000 tokens on this answer. Continue for 2,000,000 more?',
    ],
    [
      'turn',
      { own: { ...usd(5), unpriced: 1 } },
      'I have spent at most $5 of $5 on this answer. Continue for $5 more?',
    ],
  ] as const)('of a %s that is used up asks for as much again: %j', (kind, change, question) => {
    const mark = usedUp(budgetsOf(kind, facts(change), config))!;
    expect(askForMore(mark)).toBe(question);
    expect(aboutQuestion(mark, NOW, 'begun')).not.toMatch(/FETCH_/);
  });

  it('of a schedule that fires once says that it waits for the day, and not for a month', () => {
    const about = (change: Parameters<typeof facts>[0]) =>
      aboutQuestion(usedUp(budgetsOf('schedule', facts(change), config))!, NOW, 'once');
    expect(about({ day: usd(30) })).toMatch(/^It waits until then; without an answer it runs when the day is over\./);
    expect(about({ monthly: usd(300) })).toMatch(/^It is left out now\. After a yes, ask me for it again\./);
  });

  it('is exceeded by what a person allowed, in its period alone', () => {
    const used = facts({ day: usd(30) });
    const mark = usedUp(budgetsOf('turn', used, config))!;
    const { scope, period } = mark.budget;
    const grant = { scope, period, ...grantFor(mark) };
    const after = facts({ day: usd(54), grants: [grant] });
    expect(usedUp(budgetsOf('turn', after, config))).toBeNull();
    expect(usedUp(budgetsOf('turn', { ...after, day: usd(55) }, config))).not.toBeNull();
    expect(usedUp(budgetsOf('turn', { ...after, today: '2026-11-27' }, config))).not.toBeNull();
  });

  it('is told of at four fifths, and with the step that reaches them', () => {
    const budgets = budgetsOf('turn', facts({ day: usd(19) }), config);
    expect(nearlyUsedUp(budgets, { orMore: true })).toEqual([]);
    const [near] = nearlyUsedUp(withMore(budgets, usd(1)), { orMore: false });
    expect(nearText(near!)).toBe('I have spent $20 of $25 today. At $25 I ask before I go on.');
  });

  it('holds for calls of a coding task as for its questions', () => {
    const grant = { scope: 'task turn_1', period: '', tokens: 0, microUsd: 10_000_000 };
    for (const change of [
      { own: usd(10) },
      { own: usd(10), grants: [grant] },
      { own: usd(20), grants: [grant] },
      { tasks: usd(50) },
      { monthly: usd(250) },
      { schedule: usd(5), cron },
      { schedule: usd(5) },
    ]) {
      const of = facts(change);
      const refused = taskBreach(taskBudget(config), taskUse(of)) !== null;
      expect([change, usedUp(budgetsOf('task', of, config)) !== null]).toEqual([change, refused]);
    }
  });
});

it('the cost of a schedule is said in money, in tokens where no price is known, and not at all for nothing', () => {
  expect(estimateText({ tokens: 1_000, microUsd: 100_000, unpriced: 0 }, 4)).toBe('It will cost about $0.40 a day.');
  expect(estimateText({ tokens: 1_000, microUsd: 100_000, unpriced: 0 }, 1 / 7)).toBe(
    'It will cost about $0.10 each time.',
  );
  expect(estimateText({ tokens: 12_345, microUsd: 100, unpriced: 100 }, 1)).toBe(
    'It will use about 12,000 tokens a day.',
  );
  expect(estimateText({ tokens: 0, microUsd: 0, unpriced: 0 }, 1)).toBe('');
});
