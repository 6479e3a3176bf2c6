import { z } from 'zod';
import type { BudgetUse, OwnerSpend, SpendFigures } from '../../../contracts/owner.ts';
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
import { budgetsOf } from './budgets.ts';

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
