import { type Kysely, sql } from 'kysely';

/**
 * What a person has allowed beyond a budget, the question that asks for it, and what the runs of a schedule have spent.
 * `account`: the chat whose budgets count it too, because its runs are chats of their own.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table questions add column budget jsonb;
    create index questions_budget on questions ((budget->>'scope'), (budget->>'period')) where budget is not null;
    create table budget_grants (
      question_id text primary key, scope text not null, period text not null, tokens bigint not null, micro_usd bigint not null,
      given_at timestamptz not null default now());
    create index budget_grants_scope on budget_grants (scope, period);
    create table schedule_spending (
      cron_id text not null, day date not null, kind text not null, account text, tokens bigint not null, micro_usd bigint not null,
      unpriced bigint not null default 0, primary key (cron_id, day, kind));
    create index schedule_spending_account on schedule_spending (account, day) where account is not null;
  `.execute(db);
}
