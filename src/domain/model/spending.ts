import { DAY, HOUR } from '../time.ts';

/** Budgets of money and tokens: when the person hears of them. */

/** Tokens, and money in millionths of a US dollar. */
export interface Amount {
  tokens: number;
  microUsd: number;
}

interface Used extends Amount {
  /** the part that counts at the highest known price, because the right price is unknown */
  unpriced?: number;
}

/**
 * `turn`: one answer. `task`: one coding task. `tasks`: all coding tasks of a chat on a day. `day`, `month`: a chat
 * with its schedules. `schedule`: one schedule on a day.
 */
type Level = 'turn' | 'task' | 'tasks' | 'day' | 'month' | 'schedule';

interface Budget {
  level: Level;
  /** whose it is, as grants name it */
  scope: string;
  /** a local day or month; empty for a budget that lasts as long as its work */
  period: string;
  /** when the next period begins, in ms since the epoch */
  endsAt: number | null;
  limit: Amount;
  /** what a person has allowed beyond the limit */
  granted: Amount;
  used: Used;
  /** of a schedule */
  name: string;
}

/** Stored facts for the budgets of a turn, a coding task or a schedule. */
export interface BudgetFacts {
  /** id of the turn or task; null for a schedule that has not begun */
  of: string | null;
  /** the chat whose budgets count it: for a run of an automation, the chat that gets its results */
  account: string;
  /** the schedule that it belongs to */
  cron: { id: string; name: string } | null;
  /** `2026-11-26` and `2026-11`, in the time zone of the owner */
  today: string;
  month: string;
  /** ms since the epoch */
  dayEndsAt: number;
  monthEndsAt: number;
  own: Used;
  day: Used;
  tasks: Used;
  monthly: Used;
  schedule: Used;
  grants: ReadonlyArray<Amount & { scope: string; period: string }>;
  /** US dollars that the owner allows the group of the account in a day; null or unset: as the settings say */
  dayUsd?: number | null;
}

/** The settings of all budgets. */
export interface BudgetSettings {
  FETCH_MAX_TURN_TOKENS: number;
  FETCH_MAX_TURN_USD: number;
  FETCH_MAX_DAY_TOKENS: number;
  FETCH_MAX_DAY_USD: number;
  FETCH_MAX_MONTH_TOKENS: number;
  FETCH_MAX_MONTH_USD: number;
  FETCH_MAX_SCHEDULE_TOKENS: number;
  FETCH_MAX_SCHEDULE_USD: number;
  FETCH_TASK_MAX_TOKENS: number;
  FETCH_TASK_MAX_USD: number;
  FETCH_TASK_MAX_DAY_TOKENS: number;
  FETCH_TASK_MAX_DAY_USD: number;
}

export const amount = (tokens: number, usd: number): Amount => ({ tokens, microUsd: Math.round(usd * 1_000_000) });

/** The budgets that hold for it, the narrowest first. */
export function budgetsOf(kind: 'turn' | 'task' | 'schedule', facts: BudgetFacts, settings: BudgetSettings): Budget[] {
  const { account, cron, today, month, dayEndsAt, monthEndsAt } = facts;
  const budget = (
    level: Level,
    of: string,
    [period, endsAt]: readonly [string, number | null],
    [tokens, usd]: readonly [number, number],
    used: Used,
  ): Budget => {
    const scope = `${level} ${of}`;
    const grants = facts.grants.filter((grant) => grant.scope === scope && grant.period === period);
    const granted = grants.reduce(
      (sum, grant) => ({ tokens: sum.tokens + grant.tokens, microUsd: sum.microUsd + grant.microUsd }),
      { tokens: 0, microUsd: 0 },
    );
    return { level, scope, period, endsAt, limit: amount(tokens, usd), granted, used, name: cron?.name ?? '' };
  };
  const s = settings;
  const day = [today, dayEndsAt] as const;
  const always = ['', null] as const;
  const own =
    kind === 'turn'
      ? [budget('turn', facts.of!, always, [s.FETCH_MAX_TURN_TOKENS, s.FETCH_MAX_TURN_USD], facts.own)]
      : kind === 'task'
        ? [budget('task', facts.of!, always, [s.FETCH_TASK_MAX_TOKENS, s.FETCH_TASK_MAX_USD], facts.own)]
        : [];
  const ofSchedule = cron
    ? [budget('schedule', cron.id, day, [s.FETCH_MAX_SCHEDULE_TOKENS, s.FETCH_MAX_SCHEDULE_USD], facts.schedule)]
    : [];
  const ofDay =
    kind === 'task'
      ? budget('tasks', account, day, [s.FETCH_TASK_MAX_DAY_TOKENS, s.FETCH_TASK_MAX_DAY_USD], facts.tasks)
      : budget('day', account, day, [s.FETCH_MAX_DAY_TOKENS, facts.dayUsd ?? s.FETCH_MAX_DAY_USD], facts.day);
  const ofMonth = budget(
    'month',
    account,
    [month, monthEndsAt],
    [s.FETCH_MAX_MONTH_TOKENS, s.FETCH_MAX_MONTH_USD],
    facts.monthly,
  );
  return [...own, ...ofSchedule, ofDay, ofMonth];
}

/** A budget and the unit in which it is used up, or nearly. */
export interface Mark {
  budget: Budget;
  unit: keyof Amount;
}

const UNITS = ['tokens', 'microUsd'] as const;
export const most = ({ limit, granted }: Budget, unit: keyof Amount): number => limit[unit] + granted[unit];

/** The first budget that is used up, or null. */
export function usedUp(budgets: readonly Budget[]): Mark | null {
  for (const budget of budgets)
    for (const unit of UNITS) if (budget.used[unit] >= most(budget, unit)) return { budget, unit };
  return null;
}

/** From this part of a budget on, the person knows of it. */
const NEAR = 0.8;

/** The budgets of which most is used. `orMore`: those that are used up are among them. */
export const nearlyUsedUp = (budgets: readonly Budget[], { orMore }: { orMore: boolean }): Mark[] =>
  budgets.flatMap((budget) => {
    const unit = UNITS.find((each) => {
      const limit = most(budget, each);
      return budget.used[each] >= NEAR * limit && (orMore || budget.used[each] < limit);
    });
    return unit ? [{ budget, unit }] : [];
  });

/** With what a step of this very moment adds. */
export const withMore = (budgets: readonly Budget[], more: Used): Budget[] =>
  budgets.map((budget) => ({
    ...budget,
    used: {
      tokens: budget.used.tokens + more.tokens,
      microUsd: budget.used.microUsd + more.microUsd,
      unpriced: (budget.used.unpriced ?? 0) + (more.unpriced ?? 0),
    },
  }));

/** What a yes adds: as much as the limit, beyond what is used now. */
export function grantFor({ budget, unit }: Mark): Amount {
  const more = budget.used[unit] + budget.limit[unit] - most(budget, unit);
  return { tokens: 0, microUsd: 0, [unit]: more };
}

/** `$5`, `$0.40`, `$0.0012` */
export function usd(microUsd: number): string {
  if (microUsd % 1_000_000 === 0) return `$${microUsd / 1_000_000}`;
  return `$${(microUsd / 1_000_000).toFixed(microUsd < 10_000 ? 4 : 2)}`;
}

/** Whether a budget begins again within a day. `now` in ms since the epoch. */
export const endsSoon = ({ budget: { endsAt } }: Mark, now: number): boolean =>
  // the longest day has an hour more
  endsAt !== null && endsAt - now < DAY + HOUR;

/** Below this many runs in a day, what one run costs says more. */
const OFTEN = 0.9;

/** `It will cost about $0.40 a day.` In tokens where the price is not known, or nothing is charged. */
export function estimateText(run: Amount & { unpriced: number }, runsPerDay: number): string {
  const often = runsPerDay >= OFTEN;
  const times = often ? runsPerDay : 1;
  const when = often ? 'a day' : 'each time';
  if (run.microUsd > 0 && run.unpriced === 0) return `It will cost about ${rounded(run.microUsd * times)} ${when}.`;
  const tokens = Number((run.tokens * times).toPrecision(2));
  return tokens > 0 ? `It will use about ${tokens.toLocaleString('en-US')} tokens ${when}.` : '';
}

const rounded = (microUsd: number): string =>
  microUsd < 10_000 ? 'less than $0.01' : `$${(microUsd / 1_000_000).toFixed(2)}`;
