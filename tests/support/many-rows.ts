import { sql } from 'kysely';
import type { Db } from '../../src/store/postgres/database.ts';

/**
 * Fills the tables that grow for ever with `count` rows each, all of them over: turns that have ended, messages that
 * were sent. They belong to a tenth as many chats.
 */
export async function fillTables(db: Db, count: number): Promise<void> {
  const each = `generate_series(1, ${count}) n`;
  const chats = Math.ceil(count / 10);
  const chat = `'api/old' || n % ${chats}`;
  const thread = `'thr_old' || n % ${chats}`;
  const at = `now() - interval '300 days' + n * interval '1 second'`;
  const statements = `
    insert into chats (id, channel, address, workflow_id) select 'api/old' || n, 'api', 'old' || n, 'chat/api/old' || n from generate_series(0, ${chats - 1}) n;
    insert into threads (id, chat_id, model, workspace, mode, updated_at) select 'thr_old' || n, 'api/old' || n, 'auto', '/', 'agent', ${at} from generate_series(0, ${chats - 1}) n;
    insert into turns (id, thread_id, status, input_summary, created_at, ended_at) select 'turn_old' || n, ${thread}, 'completed', 'old', ${at}, ${at} from ${each};
    insert into items (id, turn_id, thread_id, kind, status, summary) select 'item_old' || n, 'turn_old' || n, ${thread}, 'agent_message', 'completed', 'old' from ${each};
    insert into events (thread_id, turn_id, event, payload, at) select ${thread}, 'turn_old' || n, 'item.completed', '{}', ${at} from ${each};
    insert into inbox (id, chat_id, thread_id, turn_id, channel_message_id, arrival, body, received_at, signalled_at, consumed_at)
      select 'inb_old' || n, ${chat}, ${thread}, 'turn_old' || n, 'old' || n, '{"kind": "turn"}', 'old', ${at}, ${at}, ${at} from ${each};
    insert into steps (key, turn_id, step, model, result, input_tokens, output_tokens, micro_usd, created_at)
      select 'turn_old' || n || '/1', 'turn_old' || n, 1, 'auto', '{}', 1, 1, 1, ${at} from ${each};
    insert into calls (id, provider_id, turn_id, thread_id, item_id, step, position, name, args, danger, effect, state, ok)
      select 'call_old' || n, 'p' || n, 'turn_old' || n, ${thread}, 'item_old' || n, 1, 0, 'cron_list', '{}', 'SAFE', 'idempotent', 'done', true from ${each};
    insert into transcript (id, thread_id, turn_id, role, content, tokens, created_at) select 'msg_old' || n, ${thread}, 'turn_old' || n, 'user', 'old', 5, ${at} from ${each};
    insert into questions (id, chat_id, thread_id, turn_id, call_id, kind, prompt, state, asked_at)
      select 'call_old' || n, ${chat}, ${thread}, 'turn_old' || n, 'call_old' || n, 'question', 'old', 'answered', ${at} from ${each};
    insert into outbox (id, chat_id, thread_id, turn_id, kind, body, state, attempts, created_at, sent_at)
      select 'out_old' || n, ${chat}, ${thread}, 'turn_old' || n, 'answer', 'old', 'sent', 1, ${at}, ${at} from ${each};
    insert into routine_runs (id, routine_id, routine_name, chat_id, cron_id, workflow_id, status, started_at, ended_at)
      select 'wfr_old' || n, 'wf_old' || n % ${chats}, 'old', ${chat}, 'cron_old' || n % ${chats}, 'routine/wfr_old' || n, 'completed', ${at}, ${at} from ${each};
    insert into tasks (id, chat_id, thread_id, turn_id, call_id, workflow_id, goal, agent, harness, host, workspace, state, timeout_ms, created_at, ended_at)
      select 'tsk_old' || n, ${chat}, ${thread}, 'turn_old' || n, 'made_old' || n, 'task/tsk_old' || n, 'old', 'practice', 'practice', 'local', 'w', 'completed', 1, ${at}, ${at} from ${each};
    insert into task_log (task_id, seq, step, at, line) select 'tsk_old' || n, 1, 1, ${at}, '{"type": "text", "text": "old"}' from ${each};
  `;
  await db.connection().execute(async (connection) => {
    // a million rows take minutes, and what they point to is there: neither the limits of a role nor a look for each
    // foreign key
    await sql`set statement_timeout = 0`.execute(connection);
    await sql`set session_replication_role = replica`.execute(connection);
    for (const statement of statements.split(';').filter((text) => text.trim()))
      await sql.raw(statement).execute(connection);
    await sql`analyze`.execute(connection);
    await sql`reset all`.execute(connection);
  });
}

export interface TableReads {
  table: string;
  /** rows that statements have read of it, from its beginning or by an index */
  rows: number;
  /** how often it was read from its beginning */
  scans: number;
}

/** What was read of each table since `resetReads`, as far as the connections that did it are closed. */
export async function readsOf(db: Db): Promise<TableReads[]> {
  const { rows } = await sql<TableReads>`
    select relname as table, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int8 as rows, seq_scan::int8 as scans
    from pg_stat_user_tables where schemaname = 'public' order by 2 desc`.execute(db);
  return rows;
}

export const resetReads = (db: Db) => sql`select pg_stat_reset()`.execute(db);
