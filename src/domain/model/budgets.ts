import type { TurnLimits } from '../../contracts/conversation.ts';
import { MINUTE } from '../time.ts';
import { type Amount, amount, type BudgetFacts, type BudgetSettings, usd } from './spending.ts';

export interface Used {
  steps: number;
  toolCalls: number;
  tokens: number;
  microUsd: number;
  /** the part that counts at the highest known price, because the right price is unknown */
  unpriced?: number;
  wallMs: number;
}

export interface Breach {
  /** of money or tokens: a person may allow more */
  asks?: true;
  budget: string;
  used: string;
  limit: string;
  raise: string;
  /** part of the money counts at the highest known price */
  unpriced?: boolean;
}

/** Steps of earlier releases do not record it. */
const unknownPrice = ({ unpriced }: { unpriced?: number | undefined }): Pick<Breach, 'unpriced'> =>
  unpriced ? { unpriced: true } : {};

/**
 * The first budget of a turn that is used up, or null. It is checked before each step, so that a turn stops in time.
 */
export function turnBreach(limits: TurnLimits, used: Used): Breach | null {
  if (used.steps >= limits.maxSteps)
    return { budget: 'steps in a turn', used: `${used.steps}`, limit: `${limits.maxSteps}`, raise: 'FETCH_MAX_STEPS' };
  if (used.toolCalls >= limits.maxToolCalls)
    return {
      budget: 'tool calls in a turn',
      used: `${used.toolCalls}`,
      limit: `${limits.maxToolCalls}`,
      raise: 'FETCH_MAX_TOOL_CALLS',
    };
  if (used.tokens >= limits.maxTokens)
    return {
      asks: true,
      budget: 'tokens in a turn',
      used: `${used.tokens}`,
      limit: `${limits.maxTokens}`,
      raise: 'FETCH_MAX_TURN_TOKENS',
    };
  if (used.microUsd >= limits.maxMicroUsd)
    return {
      asks: true,
      budget: 'money in a turn',
      used: usd(used.microUsd),
      limit: usd(limits.maxMicroUsd),
      raise: 'FETCH_MAX_TURN_USD',
      ...unknownPrice(used),
    };
  if (used.wallMs >= limits.maxWallMs) {
    return {
      budget: 'time in a turn',
      used: `${Math.round(used.wallMs / MINUTE)} min`,
      limit: `${Math.round(limits.maxWallMs / MINUTE)} min`,
      raise: 'FETCH_MAX_TURN_MINUTES',
    };
  }
  return null;
}

/**
 * Budgets of a coding task, of all coding tasks of its chat in a day, of its chat in a month, and of its schedule in a
 * day. Money in millionths of a US dollar.
 */
export interface TaskBudget {
  tokens: number;
  microUsd: number;
  dayTokens: number;
  dayMicroUsd: number;
  month?: Amount;
  schedule?: Amount;
}

type Spent = Amount & { unpriced?: number };

/** `granted`: what a person has allowed beyond each budget. */
export interface TaskUsed extends Spent {
  today: Spent;
  month?: Spent;
  schedule?: Spent;
  granted?: Partial<Record<'task' | 'tasks' | 'month' | 'schedule', Amount>>;
}

export const taskBudget = (settings: BudgetSettings): TaskBudget => ({
  ...amount(settings.FETCH_TASK_MAX_TOKENS, settings.FETCH_TASK_MAX_USD),
  dayTokens: settings.FETCH_TASK_MAX_DAY_TOKENS,
  dayMicroUsd: Math.round(settings.FETCH_TASK_MAX_DAY_USD * 1_000_000),
  month: amount(settings.FETCH_MAX_MONTH_TOKENS, settings.FETCH_MAX_MONTH_USD),
  schedule: amount(settings.FETCH_MAX_SCHEDULE_TOKENS, settings.FETCH_MAX_SCHEDULE_USD),
});

/** The first budget of a coding task that is used up, or null. */
export function taskBreach(limits: TaskBudget, used: TaskUsed): Breach | null {
  const day = { tokens: limits.dayTokens, microUsd: limits.dayMicroUsd };
  const levels = [
    { of: 'this task', key: 'task', limit: limits, used, raise: 'FETCH_TASK_MAX' },
    { of: "this chat's coding tasks today", key: 'tasks', limit: day, used: used.today, raise: 'FETCH_TASK_MAX_DAY' },
    {
      of: 'this schedule today',
      key: 'schedule',
      limit: limits.schedule,
      used: used.schedule,
      raise: 'FETCH_MAX_SCHEDULE',
    },
    { of: 'this chat this month', key: 'month', limit: limits.month, used: used.month, raise: 'FETCH_MAX_MONTH' },
  ] as const;
  for (const { of, key, limit, used: spent, raise } of levels) {
    if (!limit || !spent) continue;
    const more = used.granted?.[key] ?? { tokens: 0, microUsd: 0 };
    const [tokens, microUsd] = [limit.tokens + more.tokens, limit.microUsd + more.microUsd];
    if (spent.tokens >= tokens)
      return { budget: `tokens of ${of}`, used: `${spent.tokens}`, limit: `${tokens}`, raise: `${raise}_TOKENS` };
    if (spent.microUsd >= microUsd)
      return {
        budget: `money of ${of}`,
        used: usd(spent.microUsd),
        limit: usd(microUsd),
        raise: `${raise}_USD`,
        ...unknownPrice(spent),
      };
  }
  return null;
}

/** The spend that is compared with the budgets of a task. */
export function taskUse({ own, tasks, monthly, schedule, cron, grants }: BudgetFacts): TaskUsed {
  const granted: NonNullable<TaskUsed['granted']> = {};
  for (const { scope, tokens, microUsd } of grants) {
    const level = scope.split(' ')[0] as keyof typeof granted;
    const before = granted[level] ?? { tokens: 0, microUsd: 0 };
    granted[level] = { tokens: before.tokens + tokens, microUsd: before.microUsd + microUsd };
  }
  return { ...own, today: tasks, month: monthly, ...(cron && { schedule }), granted };
}

export const breachText = (breach: Breach): string =>
  `The budget for ${breach.budget} is used up: ${breachFigures(breach)} What was done so far is kept. The owner can allow more on my page, under Settings.`;

/** `$5.02 of $5.00.`, and a note when the first figure is an upper bound. */
export const breachFigures = ({ used, limit, unpriced }: Breach): string =>
  unpriced
    ? `at most ${used} of ${limit}. A model whose price is not known counts at the highest known price.`
    : `${used} of ${limit}.`;

/** When a budget is used up, if it goes on as it went. */

export interface Pace {
  /** used within `ms` */
  amount: number;
  ms: number;
}

/** A pace that was watched for less time says nothing. */
const SHORTEST_MS = 60_000;

/** ms since the epoch; null: not before `until`, or nothing is used at present. What is used up already is so now. */
export function usedUpAt(
  budget: { used: number; limit: number },
  paces: readonly Pace[],
  now: number,
  until: number,
): number | null {
  if (budget.used >= budget.limit) return now;
  const perMs = paces.reduce((sum, { amount, ms }) => sum + amount / Math.max(ms, SHORTEST_MS), 0);
  if (perMs <= 0) return null;
  const at = now + (budget.limit - budget.used) / perMs;
  return at < until ? Math.ceil(at) : null;
}
