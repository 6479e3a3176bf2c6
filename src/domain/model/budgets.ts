import type { TurnLimits } from '../../contracts/conversation.ts';
import { DAY, MINUTE } from '../time.ts';

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

const usd = (micro: number): string => `$${(micro / 1_000_000).toFixed(micro < 10_000 ? 4 : 2)}`;

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
      budget: 'tokens in a turn',
      used: `${used.tokens}`,
      limit: `${limits.maxTokens}`,
      raise: 'FETCH_MAX_TURN_TOKENS',
    };
  if (used.microUsd >= limits.maxMicroUsd)
    return {
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

/** The first budget of a chat's day that is used up, or null. */
export function dayBreach(
  limits: { tokens: number; microUsd: number },
  used: { tokens: number; microUsd: number; unpriced?: number },
): Breach | null {
  if (used.tokens >= limits.tokens)
    return {
      budget: 'tokens of this chat today',
      used: `${used.tokens}`,
      limit: `${limits.tokens}`,
      raise: 'FETCH_MAX_DAY_TOKENS',
    };
  if (used.microUsd >= limits.microUsd)
    return {
      budget: 'money of this chat today',
      used: usd(used.microUsd),
      limit: usd(limits.microUsd),
      raise: 'FETCH_MAX_DAY_USD',
      ...unknownPrice(used),
    };
  return null;
}

/**
 * What a coding task may use, and what all coding tasks of its chat may use in a UTC day. Money in millionths of a US
 * dollar.
 */
export interface TaskBudget {
  tokens: number;
  microUsd: number;
  dayTokens: number;
  dayMicroUsd: number;
}

export interface TaskUsed {
  tokens: number;
  microUsd: number;
  unpriced?: number;
  today: { tokens: number; microUsd: number; unpriced?: number };
}

interface TaskBudgetSettings {
  FETCH_TASK_MAX_TOKENS: number;
  FETCH_TASK_MAX_USD: number;
  FETCH_TASK_MAX_DAY_TOKENS: number;
  FETCH_TASK_MAX_DAY_USD: number;
}

export const taskBudget = (settings: TaskBudgetSettings): TaskBudget => ({
  tokens: settings.FETCH_TASK_MAX_TOKENS,
  microUsd: Math.round(settings.FETCH_TASK_MAX_USD * 1_000_000),
  dayTokens: settings.FETCH_TASK_MAX_DAY_TOKENS,
  dayMicroUsd: Math.round(settings.FETCH_TASK_MAX_DAY_USD * 1_000_000),
});

/** The first budget of a coding task that is used up, or null. */
export function taskBreach(limits: TaskBudget, used: TaskUsed): Breach | null {
  if (used.tokens >= limits.tokens)
    return {
      budget: 'tokens of this task',
      used: `${used.tokens}`,
      limit: `${limits.tokens}`,
      raise: 'FETCH_TASK_MAX_TOKENS',
    };
  if (used.microUsd >= limits.microUsd)
    return {
      budget: 'money of this task',
      used: usd(used.microUsd),
      limit: usd(limits.microUsd),
      raise: 'FETCH_TASK_MAX_USD',
      ...unknownPrice(used),
    };
  const { today } = used;
  if (today.tokens >= limits.dayTokens)
    return {
      budget: "tokens of this chat's coding tasks today",
      used: `${today.tokens}`,
      limit: `${limits.dayTokens}`,
      raise: 'FETCH_TASK_MAX_DAY_TOKENS',
    };
  if (today.microUsd >= limits.dayMicroUsd)
    return {
      budget: "money of this chat's coding tasks today",
      used: usd(today.microUsd),
      limit: usd(limits.dayMicroUsd),
      raise: 'FETCH_TASK_MAX_DAY_USD',
      ...unknownPrice(today),
    };
  return null;
}

/** When the budgets of the next day begin, midnight UTC, in ms since the epoch. */
export const nextDay = (now: number = Date.now()): number => (Math.floor(now / DAY) + 1) * DAY;

export const breachText = (breach: Breach): string =>
  `The budget for ${breach.budget} is used up: ${breachFigures(breach)} Raise ${breach.raise} and restart to go further; what was done so far is kept.`;

/** `$5.02 of $5.00.`, and a note when the first figure is an upper bound. */
export const breachFigures = ({ used, limit, unpriced }: Breach): string =>
  unpriced
    ? `at most ${used} of ${limit}. Calls with an unknown price count at the highest known price: set the right one with FETCH_MODEL_PRICE.`
    : `${used} of ${limit}.`;
