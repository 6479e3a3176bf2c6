import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../postgres/database.ts';
import { type Spent, today } from './spending.ts';

export const USAGE_GROUPS = ['day', 'model', 'provider', 'thread'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

interface Usage {
  input_tokens: number;
  output_tokens: number;
  /** the part of the input that came from the cache of the endpoint */
  cached_tokens: number;
  /** the part of the output that was thoughts */
  reasoning_tokens: number;
  cost_usd: number;
  turns: number;
}

/** In the words of clients. A model is asked by its own name or, at a router, by `maker/name`. */
const PROVIDER = sql<string>`case
  when steps.model like 'deepseek-ai/%' then 'nvidia-nim'
  when steps.model like 'deepseek-%' then 'deepseek'
  when steps.model like '%/%' then 'openrouter'
  when steps.model ~ '^(gpt|o[0-9]|chatgpt)' then 'openai'
  when steps.model like 'claude%' then 'anthropic'
  when steps.model like 'gemini%' then 'google'
  else 'unknown' end`;

const KEYS: Record<UsageGroup, RawBuilder<string>> = {
  day: sql<string>`to_char(turns.created_at at time zone 'utc', 'YYYY-MM-DD')`,
  model: sql<string>`steps.model`,
  provider: PROVIDER,
  thread: sql<string>`turns.thread_id`,
};

/**
 * What model steps have used, of turns that were created between two times, both included. The totals are the first
 * row.
 */
export async function usageReport(
  db: Db,
  { since, until, group }: { since: Date | null; until: Date | null; group: UsageGroup },
): Promise<{ totals: Usage; buckets: Array<Usage & { key: string }> }> {
  const sum = (column: string) => sql<number>`coalesce(sum(${sql.ref(column)}), 0)::bigint`;
  const { rows } = await sql<Omit<Usage, 'cost_usd'> & { key: string | null; micro_usd: number }>`
    select ${KEYS[group]} as key, ${sum('steps.input_tokens')} as input_tokens, ${sum('steps.output_tokens')} as output_tokens,
      ${sum('steps.cached_tokens')} as cached_tokens, ${sum('steps.reasoning_tokens')} as reasoning_tokens,
      ${sum('steps.micro_usd')} as micro_usd, count(distinct steps.turn_id)::int as turns
    from steps join turns on turns.id = steps.turn_id
    where (${since}::timestamptz is null or turns.created_at >= ${since}) and (${until}::timestamptz is null or turns.created_at <= ${until})
    group by grouping sets ((), (1))
    order by grouping(${KEYS[group]}) desc, 1`.execute(db);
  const [totals, ...buckets] = rows.map(({ key, micro_usd, ...counts }) => ({
    key: key ?? '',
    ...counts,
    cost_usd: micro_usd / 1e6,
  }));
  return { totals: inOrder(totals!), buckets: buckets.map(({ key, ...usage }) => ({ key, ...inOrder(usage) })) };
}

const inOrder = ({ input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost_usd, turns }: Usage): Usage => ({
  ...{ input_tokens, output_tokens, cached_tokens, reasoning_tokens },
  cost_usd,
  turns,
});

/** What was spent: since midnight in the time zone of the owner, and ever. */
interface UsageTotal {
  today: Spent;
  ever: Spent;
}

/** The days that were counted, of turns and of coding tasks. `chatId` null: of every chat. */
export async function usageTotals(
  db: Db | Tx,
  chatId: string | null,
  zone: string,
): Promise<{ turns: UsageTotal; tasks: UsageTotal }> {
  const [turns, tasks] = await Promise.all([
    totalOf(db, 'spending', chatId, zone),
    totalOf(db, 'task_spending', chatId, zone),
  ]);
  return { turns, tasks };
}

/** Input tokens of a chat since midnight, and how many of them came from the cache of the endpoint. */
export const cachedToday = (db: Db | Tx, chatId: string, zone: string): Promise<{ cached: number; input: number }> =>
  db
    .selectFrom('steps')
    .innerJoin('turns', 'turns.id', 'steps.turn_id')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .select([
      sql<number>`coalesce(sum(steps.cached_tokens), 0)::bigint`.as('cached'),
      sql<number>`coalesce(sum(steps.input_tokens), 0)::bigint`.as('input'),
    ])
    .where('threads.chat_id', '=', chatId)
    .where('steps.created_at', '>=', sql<Date>`${today(zone)}::timestamp at time zone ${zone}::text`)
    .executeTakeFirstOrThrow();

async function totalOf(
  db: Db | Tx,
  days: 'spending' | 'task_spending',
  chatId: string | null,
  zone: string,
): Promise<UsageTotal> {
  const sum = (column: string, ofToday: boolean) =>
    sql<number>`coalesce(sum(${sql.ref(column)}) ${ofToday ? sql`filter (where day = ${today(zone)})` : sql``}, 0)::bigint`;
  let query = db
    .selectFrom(days)
    .select([
      sum('tokens', true).as('tokens_today'),
      sum('micro_usd', true).as('micro_usd_today'),
      sum('unpriced', true).as('unpriced_today'),
      sum('tokens', false).as('tokens'),
      sum('micro_usd', false).as('micro_usd'),
      sum('unpriced', false).as('unpriced'),
    ]);
  if (chatId !== null) query = query.where('chat_id', '=', chatId);
  const row = await query.executeTakeFirstOrThrow();
  return {
    today: { tokens: row.tokens_today, microUsd: row.micro_usd_today, unpriced: row.unpriced_today },
    ever: { tokens: row.tokens, microUsd: row.micro_usd, unpriced: row.unpriced },
  };
}
