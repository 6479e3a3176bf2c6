import { z } from 'zod';
import type { Config } from '../../../config.ts';
import type { BudgetUse, OwnerSpend, SpendFigures } from '../../../contracts/owner.ts';
import { type Pace, usedUpAt } from '../../../domain/model/budgets.ts';
import { DAY } from '../../../domain/time.ts';
import { chatsOfIds } from '../../../store/owner/views/chats.ts';
import {
  type DaySum,
  grantsNow,
  type Sum,
  spendByChat,
  spendByDay,
  spendByModel,
  spendByTask,
  type Use,
  usedBySchedules,
  usedByTasks,
  usedByTasksOfDay,
  usedByTurns,
  usedInMonth,
} from '../../../store/owner/views/spend.ts';
import { count, type Fields, time, usd } from '../../http/endpoint.ts';
import { whole } from '../../http/request.ts';
import { endpoint } from '../../runtime/shared/endpoint.ts';
import { chatFields, lostChat, usdOf } from '../shared.ts';

const USUAL_DAYS = 30;
const MOST_DAYS = 90;
const LISTED = 50;

const figures = {
  tokens: count(),
  cost_usd: usd(),
  unpriced_usd: usd().describe('The part that counts at the highest known price'),
} satisfies Fields<SpendFigures>;

const budget = z
  .object({
    scope: z.enum(['chat', 'tasks', 'task', 'month', 'schedule']),
    chat: chatFields,
    task_id: z.string().nullable(),
    unit: z.enum(['usd', 'tokens']),
    used: usd(),
    limit: usd(),
    setting: z.string(),
    reached_at: time().nullable().describe('When it is used up at the present pace'),
  } satisfies Fields<BudgetUse>)
  .meta({ id: 'BudgetUse' });

const spend = z
  .object({
    today: z.string(),
    resets_at: time(),
    total_today: z.object(figures),
    budgets: z.array(budget),
    days: z.array(z.object({ day: z.string(), ...figures, tasks_usd: usd(), chats_usd: usd() })),
    models: z.array(z.object({ model: z.string(), tokens: count(), cost_usd: usd() })),
    chats: z.array(z.object({ chat: chatFields, ...figures })),
    tasks: z.array(z.object({ id: z.string(), goal: z.string(), thread_id: z.string(), ...figures })),
  } satisfies Fields<OwnerSpend>)
  .meta({ id: 'OwnerSpend' });

export const getSpend = endpoint({
  method: 'GET',
  path: '/v1/owner/spend',
  summary: 'What models have cost, and what is left of the budgets of today',
  query: { days: whole.describe(`${USUAL_DAYS} when left out, ${MOST_DAYS} at most; today is one of them`) },
  answer: { schema: spend, what: 'By day, model, chat and task. Days are those of FETCH_TIME_ZONE.' },
  handle: async ({ query }, { store: { db }, config }) => {
    const days = Math.min(Math.max(1, query.days ?? USUAL_DAYS), MOST_DAYS);
    const now = Date.now();
    const { FETCH_TIME_ZONE: zone } = config;
    const [byDay, byModel, byChat, byTask, turns, tasks, tasksOfDay, months, schedules, grants] = await Promise.all([
      spendByDay(db, days, zone),
      spendByModel(db, days, LISTED, zone),
      spendByChat(db, days, LISTED, zone),
      spendByTask(db, days, LISTED, zone),
      usedByTurns(db, zone),
      usedByTasks(db),
      usedByTasksOfDay(db, zone),
      usedInMonth(db, zone),
      usedBySchedules(db, zone),
      grantsNow(db, zone),
    ]);
    const chats = await chatsOfIds(
      db,
      [...byChat, ...turns, ...tasks, ...tasksOfDay, ...months, ...schedules].map(({ chat_id }) => chat_id),
    );
    const chatOf = (id: string) => chats.get(id) ?? lostChat(id);
    const series = seriesOf(byDay.today, days, byDay.sums);
    const { tokens, cost_usd, unpriced_usd } = series.at(-1)!;
    return {
      today: byDay.today,
      resets_at: new Date(byDay.resetsAt).toISOString(),
      total_today: { tokens, cost_usd, unpriced_usd },
      budgets: budgetsOf({ turns, tasks, tasksOfDay, months, schedules, grants }, config, now, byDay.resetsAt).map(
        ({ chat_id, ...use }) => ({
          ...use,
          chat: chatOf(chat_id),
        }),
      ),
      days: series,
      models: byModel.map(({ model, tokens, micro_usd }) => ({ model, tokens, cost_usd: usdOf(micro_usd) })),
      chats: byChat.map(({ chat_id, ...sum }) => ({ chat: chatOf(chat_id), ...figuresOf(sum) })),
      tasks: byTask.map(({ id, goal, thread_id, ...sum }) => ({ id, goal, thread_id, ...figuresOf(sum) })),
    };
  },
});

const figuresOf = ({ tokens, micro_usd, unpriced }: Sum): SpendFigures => ({
  tokens,
  cost_usd: usdOf(micro_usd),
  unpriced_usd: usdOf(unpriced),
});

/** Each day up to today, oldest first. */
function seriesOf(today: string, days: number, sums: readonly DaySum[]): OwnerSpend['days'] {
  return Array.from({ length: days }, (_, index) => {
    const day = new Date(Date.parse(today) - (days - 1 - index) * DAY).toISOString().slice(0, 10);
    const of = (what: DaySum['of']): Sum =>
      sums.find((sum) => sum.day === day && sum.of === what) ?? { tokens: 0, micro_usd: 0, unpriced: 0 };
    const [chats, tasks] = [of('chats'), of('tasks')];
    const both = {
      tokens: chats.tokens + tasks.tokens,
      micro_usd: chats.micro_usd + tasks.micro_usd,
      unpriced: chats.unpriced + tasks.unpriced,
    };
    return { day, ...figuresOf(both), tasks_usd: usdOf(tasks.micro_usd), chats_usd: usdOf(chats.micro_usd) };
  });
}

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
function budgetsOf(uses: Uses, config: Config, now: number, tomorrow: number): Budget[] {
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
