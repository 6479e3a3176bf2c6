import type { Config } from '../../../config.ts';
import type { BudgetUse } from '../../../contracts/owner.ts';
import { type Pace, usedUpAt } from '../../../domain/model/budgets.ts';
import { DAY } from '../../../domain/time.ts';
import type { Use } from '../../../store/owner/views/spend.ts';

interface Uses {
  turns: readonly Use[];
  tasks: readonly Use[];
  tasksOfDay: ReadonlyArray<Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'>>;
  months: ReadonlyArray<Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'>>;
  schedules: ReadonlyArray<Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'> & { cron_id: string }>;
  /** what was allowed beyond the budgets of now */
  grants: ReadonlyArray<{ scope: string; tokens: number; micro_usd: number }>;
}

type Budget = Omit<BudgetUse, 'chat'> & { chat_id: string };

/** What a task uses lasts as long as the task, and its budget begins on no day again. */
const TASK_HORIZON_MS = 7 * DAY;

/** Each budget of which something is used, the fullest first. */
export function budgetsOf(uses: Uses, config: Config, now: number, tomorrow: number): Budget[] {
  const { turns, tasks, tasksOfDay, months, schedules, grants } = uses;
  const both = (
    use: Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'>,
    about: Pick<Budget, 'scope' | 'task_id'>,
    settings: Settings,
    paces: readonly Use[],
    until: number,
    granted: string,
  ) =>
    UNITS.map((unit): Budget => {
      const limit = grants
        .filter(({ scope }) => scope === granted)
        .reduce(
          (sum, { tokens, micro_usd }) => sum + (unit === 'usd' ? micro_usd / 1e6 : tokens),
          config[settings[unit]],
        );
      const used = unit === 'usd' ? use.micro_usd / 1e6 : use.tokens;
      const pace = paces.map(
        (each): Pace => ({ amount: unit === 'usd' ? each.pace_micro_usd / 1e6 : each.pace_tokens, ms: each.pace_ms }),
      );
      const at = usedUpAt({ used, limit }, pace, now, until);
      return {
        ...about,
        chat_id: use.chat_id,
        unit,
        used,
        limit,
        setting: settings[unit],
        reached_at: at === null ? null : new Date(at).toISOString(),
      };
    });
  const all = [
    ...turns.flatMap((use) =>
      both(use, { scope: 'chat', task_id: null }, CHATS_OF_DAY, [use], tomorrow, `day ${use.chat_id}`),
    ),
    ...tasksOfDay.flatMap((use) =>
      both(
        use,
        { scope: 'tasks', task_id: null },
        TASKS_OF_DAY,
        tasks.filter(({ chat_id }) => chat_id === use.chat_id),
        tomorrow,
        `tasks ${use.chat_id}`,
      ),
    ),
    ...tasks.flatMap((use) =>
      both(use, { scope: 'task', task_id: use.task_id }, TASK, [use], now + TASK_HORIZON_MS, `task ${use.task_id}`),
    ),
    ...months.flatMap((use) => both(use, { scope: 'month', task_id: null }, MONTH, [], now, `month ${use.chat_id}`)),
    ...schedules.flatMap((use) =>
      both(use, { scope: 'schedule', task_id: null }, SCHEDULE, [], now, `schedule ${use.cron_id}`),
    ),
  ];
  return all.filter(({ used }) => used > 0).sort((a, b) => b.used / b.limit - a.used / a.limit);
}

const UNITS = ['usd', 'tokens'] as const;
type Settings = Record<BudgetUse['unit'], keyof Config & `FETCH_${'' | 'TASK_'}MAX_${string}` & NumberSetting>;
type NumberSetting = { [Name in keyof Config]: Config[Name] extends number ? Name : never }[keyof Config];
const CHATS_OF_DAY: Settings = { usd: 'FETCH_MAX_DAY_USD', tokens: 'FETCH_MAX_DAY_TOKENS' };
const TASKS_OF_DAY: Settings = { usd: 'FETCH_TASK_MAX_DAY_USD', tokens: 'FETCH_TASK_MAX_DAY_TOKENS' };
const TASK: Settings = { usd: 'FETCH_TASK_MAX_USD', tokens: 'FETCH_TASK_MAX_TOKENS' };
const MONTH: Settings = { usd: 'FETCH_MAX_MONTH_USD', tokens: 'FETCH_MAX_MONTH_TOKENS' };
const SCHEDULE: Settings = { usd: 'FETCH_MAX_SCHEDULE_USD', tokens: 'FETCH_MAX_SCHEDULE_TOKENS' };
