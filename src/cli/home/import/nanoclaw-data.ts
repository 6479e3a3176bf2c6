import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { SqliteFile, type SqliteRow } from '../../../store/home/sqlite-file.ts';
import { isFolder, JsonFile, type Problem, unreadable } from './files.ts';

/**
 * What an installation of NanoClaw has in its databases. Version 1 has one file, `store/messages.db`, or JSON files
 * beside it in its first weeks. Version 2 has `data/v2.db`, and two files for each session. Columns came without notice
 * from release to release, so one that is absent has its default.
 */

export interface NanoClaw {
  root: string;
  groups: Group[];
  tasks: Task[];
  /** chats that it has seen and does not answer */
  unregistered: number;
}

/** A chat that it answers. */
export interface Group {
  /** address on its channel: `…@g.us`, `…@s.whatsapp.net`, `tg:…` */
  jid: string;
  name: string;
  folder: string;
  /** null: it answers everything, or what mentions it */
  trigger: string | null;
  main: boolean;
  /** id of the agent's conversation */
  session: string | null;
  /** mounts and time-out, or how it is called, as it was stored */
  rules: unknown;
  /** oldest first */
  messages: Message[];
  /** older messages that are not among them */
  older: number;
  /** messages that cannot be read */
  broken: number;
}

interface Message {
  author: string;
  /** by the linked account */
  fromMe: boolean;
  /** by the assistant */
  answer: boolean;
  text: string;
  at: Date;
  /** after the last one that the agent was given */
  waits: boolean;
}

/** A prompt on a schedule. */
export interface Task {
  id: string;
  jid: string;
  folder: string;
  prompt: string;
  /** as stored: cron, interval or once */
  type: string;
  value: string;
  nextRun: Date | null;
  /** as stored: active, paused or completed */
  status: string;
  isolated: boolean;
  /** a command that decides whether the agent is woken */
  script: string | null;
  /** oldest first */
  runs: Run[];
  /** older runs that are not among them */
  olderRuns: number;
}

interface Run {
  ended: Date;
  durationMs: number;
  ok: boolean;
  text: string;
}

/** Newest messages of a chat, and newest runs of a task, that are read. */
const MOST_MESSAGES = 20_000;
const MOST_RUNS = 500;
/** Databases of years are smaller. */
const MOST_BYTES = 1024 ** 3;
const FOLDER = /^(?!global$)[a-z0-9][a-z0-9_-]{0,63}$/i;
const ID = /^[\w-]{1,200}$/;

/** Null when the folder is none. `assistant`: its name, which begins its answers on a shared number. */
export function readData(root: string, assistant: string, problems: Problem[]): NanoClaw | null {
  const first = join(root, 'data/registered_groups.json');
  if (existsSync(join(root, 'data/v2.db'))) return { root, ...inDatabase(root, 'data/v2.db', problems, secondVersion) };
  if (!existsSync(join(root, 'store/messages.db')) && !existsSync(first)) return null;
  return {
    root,
    ...inDatabase(root, 'store/messages.db', problems, (tables) => firstVersion(root, tables, assistant, problems)),
  };
}

type Contents = Omit<NanoClaw, 'root'>;

/** Rows of a table that can be read, or none of them. */
interface Tables {
  root: string;
  problems: Problem[];
  rows: SqliteFile['rows'];
  count: SqliteFile['count'];
  has: (table: string, column?: string) => boolean;
}

function inDatabase<T>(root: string, path: string, problems: Problem[], use: (tables: Tables) => T): T {
  const file = join(root, path);
  const problem = (text: string): void => void problems.push({ file, line: null, text });
  const attempt = <R>(what: string, otherwise: R, read: () => R): R => {
    try {
      return read();
    } catch (error) {
      problem(`${what} cannot be read: ${(error as Error).message}.`);
      return otherwise;
    }
  };
  const tablesOf = (from: SqliteFile | null): Tables => ({
    root,
    problems,
    rows: (wanted) => (from ? attempt(`The table ${wanted.table}`, [], () => from.rows(wanted)) : []),
    count: (...asked) => (from ? attempt(`The table ${asked[0]}`, 0, () => from.count(...asked)) : 0),
    has: (table, column) => {
      const columns = from ? attempt(`The table ${table}`, [], () => from.columns(table)) : [];
      return column === undefined ? columns.length > 0 : columns.includes(column);
    },
  });
  const why = existsSync(file)
    ? (outside(root, file) ?? [file, `${file}-wal`].map((each) => unreadable(each, MOST_BYTES)).find(Boolean))
    : 'is not there';
  if (why) {
    problem(`It ${why}.`);
    return use(tablesOf(null));
  }
  let begun = false;
  try {
    return SqliteFile.read(file, (from) => {
      from.tables();
      begun = true;
      return use(tablesOf(from));
    });
  } catch (error) {
    if (begun) throw error;
    problem(`It cannot be read: ${(error as Error).message}.`);
    return use(tablesOf(null));
  }
}

/** Why a file is not of this folder: a link on the way to it leads elsewhere. */
export function outside(root: string, file: string): string | null {
  const real = join(realpathSync(root), relative(root, file));
  return realpathSync(file) === real ? null : 'lies behind a link, which is not followed';
}

const isTrue = (text: string | null, absent: boolean): boolean => (text === null ? absent : text !== '0');

/** A time without a zone is UTC, as SQLite writes it. Null when it is none. */
function momentOf(text: string | null): Date | null {
  if (text === null || !/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(text)) return null;
  const at = new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text.replace(' ', 'T')}Z`);
  return Number.isNaN(at.getTime()) ? null : at;
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);

type Registered = Pick<Group, 'jid' | 'name' | 'folder' | 'trigger' | 'main' | 'rules'>;

function firstVersion(root: string, tables: Tables, assistant: string, problems: Problem[]): Contents {
  const json = (name: string): Record<string, unknown> =>
    recordOf(JsonFile.read(join(root, 'data', name), problems)?.value());
  const stored = tables.has('registered_groups');
  const registered = checked(stored ? registeredGroups(tables) : earlyGroups(json('registered_groups.json')), tables);
  const state = tables.has('router_state')
    ? recordOf(
        parsed(
          tables.rows({
            table: 'router_state',
            columns: ['value'],
            where: { column: 'key', is: 'last_agent_timestamp' },
          })[0]?.value ?? null,
        ),
      )
    : recordOf(json('router_state.json').last_agent_timestamp);
  const sessions: Record<string, unknown> = tables.has('sessions')
    ? Object.fromEntries(
        tables
          .rows({ table: 'sessions', columns: ['group_folder', 'session_id'] })
          .map((row) => [row.group_folder, row.session_id]),
      )
    : json('sessions.json');
  const groups = registered.map(
    (group): Group => ({
      ...group,
      session: textIn(sessions[group.folder]),
      ...messagesOf(tables, group.jid, { given: textIn(state[group.jid]), assistant }),
    }),
  );
  const known = new Set(groups.map(({ jid }) => jid));
  const chats = tables.rows({ table: 'chats', columns: ['jid'] });
  return {
    groups,
    tasks: tasksOf(tables),
    unregistered: chats.filter(({ jid }) => jid !== null && jid !== '__group_sync__' && !known.has(jid)).length,
  };
}

function registeredGroups(tables: Tables): Registered[] {
  const columns = [
    ...(['jid', 'name', 'folder', 'trigger_pattern', 'container_config'] as const),
    ...(['requires_trigger', 'is_main'] as const),
  ];
  const marked = tables.has('registered_groups', 'is_main');
  return tables.rows({ table: 'registered_groups', columns }).map((row) => ({
    jid: row.jid ?? '',
    name: row.name ?? row.jid ?? '',
    folder: row.folder ?? '',
    trigger: isTrue(row.requires_trigger, true) ? row.trigger_pattern : null,
    main: marked ? isTrue(row.is_main, false) : row.folder === 'main',
    rules: parsed(row.container_config),
  }));
}

const earlyGroups = (file: Record<string, unknown>): Registered[] =>
  Object.entries(file).map(([jid, value]) => {
    const { name, folder, trigger, requiresTrigger, containerConfig } = recordOf(value);
    return {
      jid,
      name: textIn(name) ?? jid,
      folder: textIn(folder) ?? '',
      trigger: requiresTrigger === false ? null : textIn(trigger),
      main: folder === 'main',
      rules: containerConfig ?? null,
    };
  });

/** Those with a folder that NanoClaw itself would take. */
function checked(groups: readonly Registered[], { root, problems }: Tables): Registered[] {
  return groups.filter(({ jid, name, folder }) => {
    const wrong = jid === '' ? 'has no address' : FOLDER.test(folder) ? null : `has the folder "${folder}"`;
    if (wrong) problems.push({ file: root, line: null, text: `Group "${name}" ${wrong}, and is left out.` });
    return wrong === null;
  });
}

/** `given`: time of the last message that the agent was given; null: it was given none */
function messagesOf(
  tables: Tables,
  jid: string,
  { given, assistant }: { given: string | null; assistant: string },
): Pick<Group, 'messages' | 'older' | 'broken'> {
  const columns = ['sender_name', 'sender', 'content', 'timestamp', 'is_from_me', 'is_bot_message'] as const;
  const where = { column: 'chat_jid', is: jid };
  const rows = tables.rows({ table: 'messages', columns, where, orderBy: 'timestamp', newest: MOST_MESSAGES });
  const isMarked = tables.has('messages', 'is_bot_message');
  const name = `${assistant}:`.toLowerCase();
  let broken = 0;
  const messages = rows.flatMap((row): Message[] => {
    const at = momentOf(row.timestamp);
    const text = row.content?.trim() ?? '';
    if (!at) broken += 1;
    if (!at || text === '') return [];
    const fromMe = isTrue(row.is_from_me, false);
    const named = text.toLowerCase().startsWith(name);
    // a text of somebody else that begins with its name is marked, too
    const answer = fromMe && (isMarked ? isTrue(row.is_bot_message, false) : named);
    return [
      {
        author: row.sender_name ?? row.sender?.split('@')[0] ?? '',
        fromMe,
        answer,
        text: answer && named ? text.slice(name.length).trim() : text,
        at,
        waits: !answer && row.timestamp! > (given ?? ''),
      },
    ];
  });
  const older = Math.max(0, tables.count('messages', 'chat_jid', jid) - rows.length);
  return { messages, older, broken };
}

function tasksOf(tables: Tables): Task[] {
  const columns = [
    ...(['id', 'group_folder', 'chat_jid', 'prompt', 'schedule_type', 'schedule_value'] as const),
    ...(['next_run', 'status', 'context_mode', 'script'] as const),
  ];
  return tables.rows({ table: 'scheduled_tasks', columns, orderBy: 'created_at' }).flatMap((row): Task[] => {
    if (!row.id || !row.prompt?.trim()) {
      tables.problems.push({
        file: tables.root,
        line: null,
        text: `Task ${row.id ?? 'without an id'} has no prompt, and is left out.`,
      });
      return [];
    }
    return [
      {
        id: row.id,
        jid: row.chat_jid ?? '',
        folder: row.group_folder ?? '',
        prompt: row.prompt,
        type: row.schedule_type ?? '',
        value: row.schedule_value ?? '',
        nextRun: momentOf(row.next_run),
        status: row.status ?? 'active',
        isolated: row.context_mode !== 'group',
        script: row.script || null,
        ...runsOf(tables, row.id),
      },
    ];
  });
}

function runsOf(tables: Tables, task: string): Pick<Task, 'runs' | 'olderRuns'> {
  const columns = ['run_at', 'duration_ms', 'status', 'result', 'error'] as const;
  const where = { column: 'task_id', is: task };
  const rows = tables.rows({ table: 'task_run_logs', columns, where, orderBy: 'run_at', newest: MOST_RUNS });
  const runs = rows.flatMap((row): Run[] => {
    const ended = momentOf(row.run_at);
    const ok = row.status !== 'error';
    const text = (ok ? row.result : (row.error ?? row.result)) ?? '';
    return ended ? [{ ended, durationMs: Math.max(0, Number(row.duration_ms) || 0), ok, text }] : [];
  });
  return { runs, olderRuns: Math.max(0, tables.count('task_run_logs', 'task_id', task) - rows.length) };
}

function secondVersion(tables: Tables): Contents {
  const agents = new Map(
    tables.rows({ table: 'agent_groups', columns: ['id', 'name', 'folder'] }).map((row) => [row.id, row]),
  );
  const chats = new Map(
    tables
      .rows({ table: 'messaging_groups', columns: ['id', 'channel_type', 'platform_id', 'name'] })
      .map((row) => [row.id, row]),
  );
  const wirings = tables.rows({
    table: 'messaging_group_agents',
    columns: ['messaging_group_id', 'agent_group_id', 'engage_mode', 'engage_pattern', 'sender_scope', 'session_mode'],
  });
  const sessions = tables.rows({ table: 'sessions', columns: ['id', 'agent_group_id', 'messaging_group_id'] });
  const tasks: Task[] = [];
  const groups = wirings.flatMap((wiring): Group[] => {
    const [chat, agent] = [chats.get(wiring.messaging_group_id), agents.get(wiring.agent_group_id)];
    if (!chat?.platform_id || !agent?.id) return [];
    const always = wiring.engage_mode !== 'pattern' || wiring.engage_pattern === '.';
    const registered: Registered = {
      jid: chat.channel_type === 'whatsapp' ? chat.platform_id.replace(/^whatsapp:/, '') : chat.platform_id,
      name: chat.name ?? agent.name ?? chat.platform_id,
      folder: agent.folder ?? '',
      trigger: always ? null : wiring.engage_pattern,
      main: false,
      rules: wiring,
    };
    if (checked([registered], tables).length === 0) return [];
    const own = sessions
      .filter((each) => each.agent_group_id === agent.id && each.messaging_group_id === chat.id)
      .map((each) => readSession(tables, [agent.id ?? '', each.id ?? ''], registered));
    tasks.push(...own.flatMap((each) => each.tasks));
    return [
      {
        ...registered,
        session: own.findLast(({ session }) => session !== null)?.session ?? null,
        messages: own.flatMap(({ messages }) => messages).sort((a, b) => a.at.getTime() - b.at.getTime()),
        older: 0,
        broken: own.reduce((sum, { broken }) => sum + broken, 0),
      },
    ];
  });
  const wired = new Set(wirings.map((row) => row.messaging_group_id));
  return { groups, tasks, unregistered: [...chats.keys()].filter((id) => !wired.has(id)).length };
}

/** A session of version 2: what came in, with the tasks, and what went out. */
function readSession(
  { root, problems }: Tables,
  [agent, session]: [string, string],
  { jid, folder }: Registered,
): { messages: Message[]; broken: number; tasks: Task[]; session: string | null } {
  const path = join('data/v2-sessions', agent, session);
  if (!ID.test(agent) || !ID.test(session) || !isFolder(join(root, path)))
    return { messages: [], broken: 0, tasks: [], session: null };
  const outgoing = inDatabase(root, join(path, 'outbound.db'), problems, (tables) => ({
    said: tables.rows({ table: 'messages_out', columns: ['kind', 'timestamp', 'content'], newest: MOST_MESSAGES }),
    state: tables.rows({
      table: 'session_state',
      columns: ['value'],
      where: { column: 'key', is: 'continuation:claude' },
    }),
  }));
  const columns = ['id', 'kind', 'timestamp', 'status', 'process_after', 'recurrence', 'series_id', 'content'] as const;
  const incoming = inDatabase(root, join(path, 'inbound.db'), problems, (tables) =>
    tables.rows({ table: 'messages_in', columns, newest: MOST_MESSAGES }),
  );
  let broken = 0;
  const read = (row: SqliteRow<'timestamp' | 'content'>, answer: boolean, waits: boolean): Message[] => {
    const content = recordOf(parsed(row.content));
    const at = momentOf(row.timestamp);
    const text = textIn(content.text)?.trim();
    if (!at || text === undefined) broken += 1;
    if (!at || !text) return [];
    return [{ author: textIn(content.sender) ?? '', fromMe: answer, answer, text, at, waits }];
  };
  const isTalk = (kind: string | null): boolean => kind === 'chat' || kind === 'chat-sdk';
  return {
    messages: [
      ...incoming.filter(({ kind }) => isTalk(kind)).flatMap((row) => read(row, false, row.status === 'pending')),
      ...outgoing.said.filter(({ kind }) => isTalk(kind)).flatMap((row) => read(row, true, false)),
    ],
    broken,
    tasks: incoming.filter(({ kind }) => kind === 'task').flatMap((row) => taskOfRow(row, { jid, folder })),
    session: outgoing.state[0]?.value ?? null,
  };
}

/** Rows of firings that are over are no tasks any more. */
function taskOfRow(
  row: SqliteRow<'id' | 'status' | 'process_after' | 'recurrence' | 'series_id' | 'content'>,
  { jid, folder }: Pick<Task, 'jid' | 'folder'>,
): Task[] {
  const { prompt, script } = recordOf(parsed(row.content));
  if (
    !row.id ||
    typeof prompt !== 'string' ||
    prompt.trim() === '' ||
    (row.status !== 'pending' && row.status !== 'paused')
  )
    return [];
  return [
    {
      id: row.series_id ?? row.id,
      jid,
      folder,
      prompt,
      type: row.recurrence ? 'cron' : 'once',
      value: row.recurrence ?? row.process_after ?? '',
      nextRun: momentOf(row.process_after),
      status: row.status === 'paused' ? 'paused' : 'active',
      isolated: false,
      script: textIn(script),
      runs: [],
      olderRuns: 0,
    },
  ];
}

/** The kind of this folder, for the person who named it. */
export function kindOfFolder(folder: string): string {
  const has = (path: string): boolean => existsSync(join(folder, path));
  const packaged = has('package.json') ? recordOf(JsonFile.read(join(folder, 'package.json'), [])?.value()).name : null;
  if (['openclaw.json', 'clawdbot.json', 'moltbot.json'].some(has) || packaged === 'openclaw')
    return 'an installation of OpenClaw';
  if (packaged === 'nanoclaw')
    return 'a copy of NanoClaw that has never run: it has no store/messages.db and no data/v2.db';
  if (has('chat-key') || has('encryption-key')) return 'a home of this Fetch, which `fetch import-home` moves';
  if (typeof packaged === 'string') return `the project "${packaged}"`;
  if (has('.git')) return `the repository "${basename(folder)}"`;
  return readdirSync(folder).length === 0 ? 'an empty folder' : 'a folder of another kind';
}
