import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Folders as NanoClaw leaves them: version 1.1, 1.2 and 2. */

type Value = string | number | null;
type Row = Record<string, Value>;

/** Tables of `store/messages.db`. Columns that came later are added by `later`. */
const FIRST = `
  create table chats (jid text primary key, name text, last_message_time text, channel text, is_group integer default 0);
  create table messages (id text, chat_jid text, sender text, sender_name text, content text, timestamp text,
    is_from_me integer, is_bot_message integer default 0, primary key (id, chat_jid), foreign key (chat_jid) references chats(jid));
  create table scheduled_tasks (id text primary key, group_folder text not null, chat_jid text not null, prompt text not null,
    schedule_type text not null, schedule_value text not null, next_run text, last_run text, last_result text,
    status text default 'active', created_at text not null, context_mode text default 'isolated');
  create table task_run_logs (id integer primary key autoincrement, task_id text not null, run_at text not null,
    duration_ms integer not null, status text not null, result text, error text);
  create table router_state (key text primary key, value text not null);
  create table sessions (group_folder text primary key, session_id text not null);
  create table registered_groups (jid text primary key, name text not null, folder text not null unique,
    trigger_pattern text not null, added_at text not null, container_config text, requires_trigger integer default 1);
  create index idx_timestamp on messages(timestamp);
`;
const LATER = `
  alter table registered_groups add column is_main integer default 0;
  alter table scheduled_tasks add column script text;
  alter table messages add column reply_to_message_id text;
`;

export const OWNER = '491701234567@s.whatsapp.net';
export const FAMILY = '120363000000000001@g.us';

export const group = (jid: string, folder: string, more: Row = {}): Row => ({
  jid,
  name: folder,
  folder,
  trigger_pattern: '@Andy',
  added_at: '2026-02-01T10:00:00.000Z',
  ...more,
});

export const message = (chat: string, at: string, content: string, more: Row = {}): Row => ({
  id: `${chat}${at}`,
  chat_jid: chat,
  sender: '491709999999@s.whatsapp.net',
  sender_name: 'Ann',
  content,
  timestamp: `2026-03-01T${at}.000Z`,
  is_from_me: 0,
  is_bot_message: 0,
  ...more,
});

export const task = (id: string, type: string, value: string, more: Row = {}): Row => ({
  id,
  group_folder: 'family',
  chat_jid: FAMILY,
  prompt: `Prompt of ${id}`,
  schedule_type: type,
  schedule_value: value,
  next_run: '2026-03-02T09:00:00.000Z',
  status: 'active',
  created_at: '2026-02-01T10:00:00.000Z',
  context_mode: 'group',
  ...more,
});

export interface NanoClawContent {
  version?: '1.1' | '1.2';
  tables?: Record<string, Row[]>;
  files?: Record<string, string>;
  /** SQL that damages it, run at the end */
  damage?: string;
}

export function writeFiles(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

export function insert(db: DatabaseSync, tables: Record<string, Row[]>): void {
  db.exec('begin');
  for (const [table, rows] of Object.entries(tables))
    for (const row of rows) {
      const names = Object.keys(row);
      db.prepare(`insert into ${table} (${names.join()}) values (${names.map(() => '?').join()})`).run(
        ...Object.values(row),
      );
    }
  db.exec('commit');
}

export function makeNanoClaw({ version = '1.2', tables = {}, files = {}, damage }: NanoClawContent): string {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-nanoclaw-'));
  mkdirSync(join(folder, 'store'));
  const db = new DatabaseSync(join(folder, 'store/messages.db'), { enableForeignKeyConstraints: false });
  db.exec(FIRST);
  if (version === '1.2') db.exec(LATER);
  insert(db, tables);
  if (damage) db.exec(damage);
  db.close();
  writeFiles(folder, files);
  return folder;
}

/** A family group, the owner's chat, and what they did. */
export const LIVED: Required<Pick<NanoClawContent, 'tables' | 'files'>> = {
  tables: {
    chats: [
      { jid: FAMILY, name: 'Family', last_message_time: '2026-03-01T10:05:00.000Z', channel: 'whatsapp', is_group: 1 },
      { jid: OWNER, name: 'Me', last_message_time: null, channel: 'whatsapp', is_group: 0 },
      { jid: '1555@g.us', name: 'Neighbours', last_message_time: null, channel: 'whatsapp', is_group: 1 },
      { jid: '__group_sync__', name: '__group_sync__', last_message_time: '2026-03-01T00:00:00.000Z', channel: null },
    ],
    registered_groups: [
      group(OWNER, 'main', { name: 'Me', is_main: 1, requires_trigger: 0 }),
      group(FAMILY, 'family', { name: 'Family', container_config: '{"timeout":600000}' }),
      group('tg:-100', 'tg_work', { name: 'Work' }),
    ],
    messages: [
      message(FAMILY, '10:00:00', '@Andy when is the party?'),
      message(FAMILY, '10:01:00', 'Andy: On Friday.', { is_from_me: 1, is_bot_message: 1, sender_name: 'Me' }),
      message(FAMILY, '10:02:00', 'Andy: I am not Andy', { is_bot_message: 1, sender_name: 'Bob' }),
      message(FAMILY, '10:03:00', 'I bring\nthe cake', { is_from_me: 1, sender_name: 'Me' }),
      message(FAMILY, '10:04:00', ''),
      message(OWNER, '09:00:00', 'Remind me of the heron', { is_from_me: 1, sender_name: 'Me' }),
      message('tg:-100', '11:00:00', 'A word on Telegram'),
    ],
    router_state: [
      {
        key: 'last_agent_timestamp',
        value: JSON.stringify({ [FAMILY]: '2026-03-01T10:00:00.000Z', [OWNER]: '2026-03-01T09:00:00.000Z' }),
      },
    ],
    sessions: [{ group_folder: 'family', session_id: '11111111-2222-3333-4444-555555555555' }],
    scheduled_tasks: [
      task('task-1', 'cron', '0 9 1 * MON'),
      task('task-2', 'interval', '3600000', { context_mode: 'isolated', status: 'paused' }),
      task('task-3', 'once', '2026-02-01T09:00:00', { next_run: null, status: 'completed' }),
      task('task-4', 'cron', 'every day'),
      task('task-5', 'cron', '0 9 * * *', { chat_jid: 'tg:-100', group_folder: 'tg_work' }),
      task('task-6', 'cron', '*/5 * * * *', { script: 'echo {}' }),
      task('task-7', 'cron', '0 9 * * *', { chat_jid: '1777@g.us' }),
    ],
    task_run_logs: [
      {
        task_id: 'task-1',
        run_at: '2026-03-01T09:00:05.000Z',
        duration_ms: 5_000,
        status: 'success',
        result: 'The list is empty.',
        error: null,
      },
      {
        task_id: 'task-1',
        run_at: '2026-03-02T09:00:05.000Z',
        duration_ms: 5_000,
        status: 'error',
        result: null,
        error: 'No network',
      },
    ],
  },
  files: {
    '.env': 'ASSISTANT_NAME=Andy\nASSISTANT_HAS_OWN_NUMBER=true\nTZ=Europe/Berlin\nCLAUDE_CODE_OAUTH_TOKEN=hush\n',
    'package.json': '{"name":"nanoclaw"}',
    'groups/family/CLAUDE.md': '# Andy\nThe family likes cake.\n',
    'groups/family/conversations/2026-03-01-party.md': '# Party\n',
    'groups/family/logs/container-1.log': 'a log',
    'groups/global/CLAUDE.md': '# For all\n',
    'data/sessions/family/.claude/projects/-workspace-group/11111111-2222-3333-4444-555555555555.jsonl': '{}\n',
    'data/ipc/family/messages/1-abc.json': '{}',
    'store/auth/creds.json': '{"secret":"hush"}',
  },
};

const SECOND = `
  create table agent_groups (id text primary key, name text, folder text unique, agent_provider text, created_at text);
  create table messaging_groups (id text primary key, channel_type text, platform_id text, name text, is_group integer default 0,
    unknown_sender_policy text default 'strict', created_at text, unique (channel_type, platform_id));
  create table messaging_group_agents (id text primary key, messaging_group_id text, agent_group_id text, engage_mode text default 'mention',
    engage_pattern text, sender_scope text default 'all', ignored_message_policy text default 'drop', session_mode text default 'shared',
    priority integer default 0, created_at text);
  create table sessions (id text primary key, agent_group_id text, messaging_group_id text, thread_id text, agent_provider text,
    status text default 'active', container_status text default 'stopped', last_active text, created_at text);
`;
const INBOUND = `create table messages_in (id text primary key, seq integer unique, kind text, timestamp text, status text default 'pending',
  process_after text, recurrence text, series_id text, tries integer default 0, trigger integer default 1, platform_id text, channel_type text,
  thread_id text, content text, source_session_id text, on_wake integer default 0)`;
const OUTBOUND = `create table messages_out (id text, seq integer unique, in_reply_to text, timestamp text, deliver_after text, recurrence text,
  kind text, content text);
  create table session_state (key text, value text, updated_at text)`;

/** Version 2: one group with one session. */
export function makeSecondNanoClaw(incoming: Row[], outgoing: Row[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-nanoclaw2-'));
  const database = (path: string, schema: string, tables: Record<string, Row[]>): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    const db = new DatabaseSync(join(folder, path));
    db.exec(schema);
    insert(db, tables);
    db.close();
  };
  database('data/v2.db', SECOND, {
    agent_groups: [{ id: 'ag-1', name: 'Family', folder: 'whatsapp_family' }],
    messaging_groups: [
      { id: 'mg-1', channel_type: 'whatsapp', platform_id: FAMILY, name: 'Family', is_group: 1 },
      { id: 'mg-2', channel_type: 'discord', platform_id: 'discord:5', name: 'Unwired' },
    ],
    messaging_group_agents: [
      {
        id: 'mga-1',
        messaging_group_id: 'mg-1',
        agent_group_id: 'ag-1',
        engage_mode: 'pattern',
        engage_pattern: '@Bob',
      },
    ],
    sessions: [{ id: 'sess-1', agent_group_id: 'ag-1', messaging_group_id: 'mg-1' }],
  });
  const session = 'data/v2-sessions/ag-1/sess-1';
  database(`${session}/inbound.db`, INBOUND, { messages_in: incoming.map((row, seq) => ({ seq, ...row })) });
  database(`${session}/outbound.db`, OUTBOUND, {
    messages_out: outgoing.map((row, seq) => ({ seq, ...row })),
    session_state: [{ key: 'continuation:claude', value: 'aaaa-bbbb' }],
  });
  writeFiles(folder, { 'groups/whatsapp_family/CLAUDE.local.md': 'Cake.\n' });
  return folder;
}
