import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What a home or an installation has, as a person would count it. */
export interface HomeFigures {
  chats: number;
  openQuestions: number;
  turns: number;
  tasks: number;
  crons: number;
  reminders: number;
  /** to be sent */
  messages: number;
  /** a phone is linked */
  whatsapp: boolean;
  /** names of kennel hosts that have workspaces or unfinished tasks */
  hosts: string[];
}

export async function readHomeFigures(db: Db): Promise<HomeFigures> {
  const { rows } = await sql<HomeFigures>`
    select (select count(*)::int from chats) as chats,
      (select count(*)::int from questions where state = 'open') as "openQuestions",
      (select count(*)::int from turns where status = 'in_progress') as turns,
      (select count(*)::int from tasks where ended_at is null) as tasks,
      (select count(*)::int from crons) as crons,
      (select count(*)::int from reminders where state = 'waiting') as reminders,
      (select count(*)::int from outbox where state = 'queued') as messages,
      exists (select from wa_creds where account in (select account from wa_accounts)) as whatsapp,
      coalesce((select array_agg(distinct host order by host) from
        (select host from workspaces union select host from tasks where ended_at is null) known), '{}') as hosts`.execute(
    db,
  );
  return rows[0]!;
}

/** Stands in a database into which a home may be moved. */
interface TargetState {
  /** somebody has talked here, or linked WhatsApp */
  used: boolean;
  /** this home was moved here before */
  imported: boolean;
  /** roles that work now, by the names of their connections and by what they hold */
  working: string[];
}

export async function readTarget(db: Db, home: string): Promise<TargetState> {
  const { rows } = await sql<TargetState>`
    select exists (select from chats) or exists (select from wa_accounts) as used,
      exists (select from imports where kind = 'home' and key = ${home}) as imported,
      array(
        select distinct application_name from pg_stat_activity
          where datname = current_database() and application_name ~ '^fetch-(worker|gateway|api|kennel)'
        union select 'kennel of host ' || host from kennel_hosts where holder is not null and lease_until > now()
        union select 'gateway with WhatsApp' from wa_accounts where lease_until > now()
        union select 'gateway with Telegram' from tg_bots where lease_until > now()
        order by 1) as working`.execute(db);
  return rows[0]!;
}

export const unfinishedTasks = async (db: Db): Promise<string[]> =>
  (await db.selectFrom('tasks').select('id').where('ended_at', 'is', null).execute()).map(({ id }) => id);
