import { type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../../contracts/ids.ts';
import type { TurnStatus } from '../../../contracts/records.ts';
import type { Db } from '../../postgres/database.ts';

/** What a list of threads shows of each, as the records have it now. */
export interface ThreadSummaryRow {
  id: string;
  channel: Channel;
  address: string;
  /** of the person or group, as WhatsApp tells it: words of others */
  name: string | null;
  /** JID with the phone number of a WhatsApp chat, where it is known */
  phone: string | null;
  title: string | null;
  model: string;
  mode: string;
  /** folder of the active workspace; the thread's own where none is active */
  workspace: string;
  /** of that folder, as a tool last saw it; null outside of git */
  git: { branch: string | null; head: string | null; modified: number; untracked: number } | null;
  archived: boolean;
  updated_at: Date;
  latest_turn_id: string | null;
  latest_turn_status: TurnStatus | null;
  input_summary: string | null;
  /** the beginning of the last words of the person or the model */
  said: string | null;
  state: 'idle' | 'working' | 'waiting' | 'limited' | 'paused';
  /** open questions */
  pending: number;
  /** total spend of its chat, with coding tasks */
  micro_usd: number;
}

/** The title of a thread in which nothing was said yet. */
export const UNTITLED = 'New Thread';

export interface ThreadFilter {
  limit: number;
  include_archived: boolean;
  archived_only: boolean;
  /** part of an id, a title, the last words or a model, in any case */
  search?: string;
}

/** The name of a chat of WhatsApp. A person may have several rows, and some without a name. */
const PERSON = sql`select name, pn from wa_contacts where chat_address = shown.address order by (name is null), id limit 1`;
/** The address of a chat begins with the id of its person. */
const TELEGRAM = sql`select name from tg_people where user_id::text = split_part(shown.address, '/', 1) limit 1`;
const GROUP = sql`select metadata ->> 'subject' as subject from wa_groups where jid = shown.address limit 1`;

/** Coding tasks that are not over, each thread's together. */
const TASKS = sql`
  select thread_id, bool_or(state in ('queued', 'running') and not coalesce(limited_until > now(), false)) as working,
    bool_or(coalesce(limited_until > now(), false)) as limited, bool_or(state = 'paused') as paused
  from tasks where ended_at is null group by thread_id`;

/** A question is what a person can do something about, so it comes first. */
const STATE = sql`case
  when asked.pending > 0 then 'waiting'
  when active.id is not null then case when exists (select from model_waits where turn_id = active.id and kind = 'limit' and until > now()) then 'limited' else 'working' end
  when tasks.working then 'working'
  when tasks.limited then 'limited'
  when tasks.paused then 'paused'
  when tasks.thread_id is not null then 'working'
  else 'idle' end`;

/**
 * Newest first. One statement, whose cost grows with the number of threads that are shown, not with what was said in
 * them.
 */
export async function threadSummaries(db: Db, filter: ThreadFilter): Promise<ThreadSummaryRow[]> {
  const { rows } = await sql<ThreadSummaryRow>`
    with tasks as materialized (${TASKS}), shown as (
      select threads.*, threads.archived or threads.deleted_at is not null as hidden, chats.channel, chats.address, chats.workspace as project, chats.workspace_host,
        latest.status, latest.input_summary, spoken.summary as said
      from threads join chats on chats.id = threads.chat_id
        left join turns as latest on latest.id = threads.latest_turn_id
        left join lateral (select summary from items where thread_id = threads.id and kind in ('user_message', 'agent_message') and summary <> ''
          order by ord desc limit 1) as spoken on true
      where ${archiveCondition(filter)} and ${searchCondition(filter.search)}
      order by threads.updated_at desc, threads.id limit ${filter.limit})
    select shown.id, shown.channel, shown.address, coalesce(groups.subject, person.name, telegram.name) as name, person.pn as phone, shown.title, shown.model, shown.mode,
      coalesce(place.path, shown.workspace) as workspace, place.git, shown.hidden as archived, shown.updated_at, shown.latest_turn_id,
      shown.status as latest_turn_status, shown.input_summary, shown.said, ${STATE} as state, asked.pending,
      (select coalesce(sum(micro_usd), 0)::float8 from spending where chat_id = shown.chat_id)
        + (select coalesce(sum(micro_usd), 0)::float8 from task_spending where chat_id = shown.chat_id) as micro_usd
    from shown left join lateral (${PERSON}) as person on true left join lateral (${TELEGRAM}) as telegram on shown.channel = 'telegram' left join lateral (${GROUP}) as groups on shown.address like '%@g.us'
      left join tasks on tasks.thread_id = shown.id
      left join turns as active on active.thread_id = shown.id and active.status = 'in_progress'
      cross join lateral (select count(*)::int as pending from questions where thread_id = shown.id and questions.state = 'open') as asked
      left join lateral (select path, nullif(profile -> 'git', 'null') as git from workspaces
        where case when shown.project is null then path = shown.workspace else name = shown.project and host = shown.workspace_host end limit 1) as place on true
    order by shown.updated_at desc, shown.id`.execute(db);
  return rows;
}

function archiveCondition({ archived_only, include_archived }: ThreadFilter): RawBuilder<unknown> {
  if (archived_only) return sql`(threads.archived or threads.deleted_at is not null)`;
  return include_archived ? sql`true` : sql`not threads.archived and threads.deleted_at is null`;
}

const TITLE = sql`coalesce(threads.title, nullif(latest.input_summary, ''), ${sql.lit(UNTITLED)})`;

/** The texts are those that a summary shows, so that a hit can be seen. */
const searchCondition = (search: string | undefined): RawBuilder<unknown> =>
  search
    ? sql`position(lower(${search}) in lower(concat_ws(E'\n', threads.id, ${TITLE}, spoken.summary, threads.model))) > 0`
    : sql`true`;
