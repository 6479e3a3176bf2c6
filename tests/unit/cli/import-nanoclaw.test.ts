import { mkdtempSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { foldersOf, type Part, type Problem, problemLine } from '../../../src/cli/home/import/files.ts';
import { partOfNanoClaw, readNanoClaw } from '../../../src/cli/home/import/nanoclaw.ts';
import { kindOfFolder, type Task } from '../../../src/cli/home/import/nanoclaw-data.ts';
import { scheduleOfTask } from '../../../src/cli/home/import/nanoclaw-schedules.ts';
import type { Config } from '../../../src/config.ts';
import { nextFirings } from '../../../src/domain/cron.ts';
import {
  FAMILY,
  group,
  LIVED,
  makeNanoClaw,
  makeSecondNanoClaw,
  message,
  writeFiles,
} from '../../support/nanoclaw-installation.ts';

const made: string[] = [];
const keep = (folder: string): string => {
  made.push(folder);
  return folder;
};
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** What a dry run has, as the report says it. */
function read(root: string): { found: string[]; left: string[]; problems: string[]; part: Part } {
  const problems: Problem[] = [];
  const installation = readNanoClaw(keep(root), problems)!;
  const home = keep(mkdtempSync(join(tmpdir(), 'fetch-import-home-')));
  const chats = { config: { FETCH_HOME: home } as Config, secret: '' };
  const part = partOfNanoClaw(chats, installation, { chats: new Set(), tasks: new Set(), folders: new Set() });
  return {
    found: part.found.map(({ what }) => what.replaceAll(home, 'HOME')),
    left: part.left.map(({ what, why }) => `${what}: ${why}`),
    problems: [...problems, ...part.problems].map(problemLine),
    part,
  };
}

describe('an installation of NanoClaw 1', () => {
  it('is told whole: chats, messages since the last answer, tasks, folders, settings, and what stays there', () => {
    const { found, left, problems } = read(makeNanoClaw(LIVED));
    expect(found).toEqual([
      'setting FETCH_TRIGGER (ASSISTANT_NAME)',
      'setting OWNER_PHONE_NUMBER',
      'setting WHATSAPP_NUMBER (ASSISTANT_HAS_OWN_NUMBER)',
      'setting FETCH_TIME_ZONE (TZ)',
      'chat "Me" (main): 1 message',
      'chat "Family" (family): 4 messages, 2 of them since the last answer',
      'task "Prompt of task-1": cron 0 9 1 * MON becomes every month on the 1st at 9:00 in Europe/Berlin; in two parts, because a date or a weekday was enough there',
      expect.stringMatching(
        /^task "Prompt of task-1": cron 0 9 1 \* MON becomes every month on the 2nd, .* if it is a Monday at 9:00/,
      ),
      'task "Prompt of task-2": interval 3600000 becomes every hour in Europe/Berlin; switched off, as it was',
      'task "Prompt of task-6": cron */5 * * * * becomes every 5 minutes in Europe/Berlin; switched off, because the command that decides about it is not run here',
      'folder groups/family: 2 files, copied to HOME/nanoclaw/groups/family',
      'folder groups/global: 1 file, copied to HOME/nanoclaw/groups/global',
      'conversations of the agent of family: 1 file, copied to HOME/nanoclaw/sessions/family/-workspace-group',
      'rules of 3 chats, 7 tasks and 2 runs, kept in HOME/nanoclaw/records.json',
    ]);
    for (const line of [
      'setting CLAUDE_CODE_OAUTH_TOKEN: it has no meaning here',
      'chat "Work" (tg_work): it is on a channel that is not here',
      'task "Prompt of task-3": once 2026-02-01T09:00:00: it is over',
      'task "Prompt of task-4": cron every day: "every day" cannot be read: a schedule has five fields',
      'task "Prompt of task-5": cron 0 9 * * *: its chat is on a channel that is not here',
      'task "Prompt of task-7": cron 0 9 * * *: its chat is not registered',
      'WhatsApp login (store/auth): stop NanoClaw first (`systemctl --user stop nanoclaw`',
      '1 chat that it did not answer',
      '1 file in data/ipc',
      'who may write in 1 chat',
    ])
      expect(left.filter((each) => each.startsWith(line))).toHaveLength(1);
    expect(problems).toEqual([]);
    expect(JSON.stringify([found, left])).not.toContain('hush');
  });

  it('has other columns in another release, and the defaults for those that are absent', () => {
    const { registered_groups, scheduled_tasks } = LIVED.tables;
    const older = (rows: Array<Record<string, string | number | null>>, ...gone: string[]) =>
      rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !gone.includes(name))));
    const tables = {
      ...LIVED.tables,
      registered_groups: older(registered_groups!, 'is_main'),
      scheduled_tasks: older(scheduled_tasks!, 'script'),
    };
    const { found, problems } = read(
      makeNanoClaw({
        version: '1.1',
        tables,
        damage: 'alter table messages drop column is_bot_message; alter table messages add column other blob',
      }),
    );
    expect(found).toContain('chat "Family" (family): 4 messages, 2 of them since the last answer');
    expect(problems).toEqual([]);
  });

  it('of the first weeks has its groups in a file', () => {
    const folder = makeNanoClaw({
      version: '1.1',
      tables: { messages: LIVED.tables.messages!.slice(0, 2) },
      files: {
        'data/registered_groups.json': JSON.stringify({
          [FAMILY]: { name: 'Family', folder: 'family', trigger: '@Andy' },
        }),
        'data/sessions.json': '{"family":"1-2-3"}',
        'data/router_state.json': JSON.stringify({ last_agent_timestamp: { [FAMILY]: '2026-03-01T10:00:00.000Z' } }),
      },
      damage: 'drop table registered_groups; drop table sessions; drop table router_state',
    });
    expect(read(folder).found).toContain('chat "Family" (family): 2 messages');
  });

  it('that is damaged is told by file, and the rest is taken', () => {
    const missing = read(makeNanoClaw({ ...LIVED, damage: 'drop table messages; drop table task_run_logs' }));
    expect(missing.found).toContain('chat "Family" (family): 0 messages');
    const none = makeNanoClaw({ files: { 'groups/family/CLAUDE.md': 'x' } });
    writeFileSync(join(none, 'store/messages.db'), 'This is no database.');
    const { found, problems } = read(none);
    expect(problems).toEqual([`${none}/store/messages.db: It cannot be read: file is not a database.`]);
    expect(found).toEqual(['folder groups/family: 1 file, copied to HOME/nanoclaw/groups/family']);
    const cut = makeNanoClaw({
      ...LIVED,
      tables: {
        ...LIVED.tables,
        messages: Array.from({ length: 500 }, (_, at) =>
          message(FAMILY, '10:00:00', 'long '.repeat(50), { id: `m${at}` }),
        ),
      },
    });
    truncateSync(join(cut, 'store/messages.db'), Math.floor(statSync(join(cut, 'store/messages.db')).size / 2));
    expect(read(cut).problems.join('\n')).toMatch(/messages\.db: .*(malformed|not a database|cannot be read)/);
  });

  it('leads nowhere else: no link is followed, and names of folders are names', () => {
    const outside = keep(mkdtempSync(join(tmpdir(), 'fetch-outside-')));
    writeFileSync(join(outside, 'secret.md'), 'secret');
    const folder = makeNanoClaw({
      tables: {
        registered_groups: [
          group(FAMILY, '../../etc', { name: 'Up' }),
          group('1@g.us', 'GLOBAL', { name: 'All' }),
          group('2@g.us', '', { name: 'None' }),
        ],
      },
      files: { 'groups/family/CLAUDE.md': 'x' },
    });
    symlinkSync(join(outside, 'secret.md'), join(folder, 'groups/family/secret.md'));
    symlinkSync(outside, join(folder, 'groups/linked'));
    symlinkSync('/etc/passwd', join(folder, '.env'));
    const { found, left, problems } = read(folder);
    expect(found).toEqual(['folder groups/family: 1 file, copied to HOME/nanoclaw/groups/family']);
    expect(left).toContain('1 link in groups/family: a link may lead out of the folder');
    expect(left).toContain('groups/linked: it is a link, or its name is none of a group');
    expect(problems.join('\n')).toMatch(/Group "Up" has the folder "\.\.\/\.\.\/etc"/);
    expect(problems.join('\n')).toContain(`${folder}/.env: It is a link`);
    const elsewhere = keep(mkdtempSync(join(tmpdir(), 'fetch-linked-')));
    symlinkSync(join(folder, 'store'), join(elsewhere, 'store'));
    expect(read(elsewhere).problems).toEqual([
      `${elsewhere}/store/messages.db: It lies behind a link, which is not followed.`,
    ]);
  });
});

it('an installation of NanoClaw 2 has a database for each session', () => {
  const chat = (id: string, at: string, text: string, more = {}) => ({
    id,
    kind: 'chat',
    timestamp: `2026-05-01 ${at}`,
    status: 'completed',
    content: JSON.stringify({ text, sender: 'Ann', senderId: 'whatsapp:1' }),
    ...more,
  });
  const wanted = (id: string, more: object) => ({
    id,
    kind: 'task',
    timestamp: '2026-05-01 10:00:00',
    process_after: '2026-05-02T09:00:00.000Z',
    content: JSON.stringify({ prompt: `Prompt of ${id}`, script: null }),
    ...more,
  });
  const folder = makeSecondNanoClaw(
    [
      chat('a', '10:00:00', 'Hello'),
      chat('b', '10:05:00', 'Are you there?', { status: 'pending' }),
      wanted('task-1', { recurrence: '0 9 * * *', status: 'pending' }),
      wanted('task-2', { recurrence: '0 9 L * *', status: 'paused' }),
      wanted('task-3', { status: 'completed' }),
    ],
    [{ id: 'o', kind: 'chat', timestamp: '2026-05-01 10:01:00', content: '{"text":"Hi"}' }],
  );
  const { found, left, problems } = read(folder);
  expect(found).toEqual([
    'setting FETCH_TRIGGER (ASSISTANT_NAME)',
    'chat "Family" (whatsapp_family): 3 messages, 1 of them since the last answer',
    expect.stringMatching(/^task "Prompt of task-1": cron 0 9 \* \* \* becomes every day at 9:00 in /),
    expect.stringMatching(/every month on the last day at 9:00 in .*; switched off, as it was$/),
    'folder groups/whatsapp_family: 1 file, copied to HOME/nanoclaw/groups/whatsapp_family',
    'rules of 1 chat, 2 tasks and 0 runs, kept in HOME/nanoclaw/records.json',
  ]);
  expect(left).toContain(
    'word @Bob of chat "Family" (whatsapp_family): FETCH_TRIGGER calls me in all chats; give a group a word of its own in your own chat',
  );
  expect(problems).toEqual([]);
});

describe('the schedule of a task', () => {
  const now = new Date('2026-11-21T00:00:00Z');
  const of = (type: string, value: string, more: Partial<Task> = {}) =>
    scheduleOfTask({ type, value, status: 'active', nextRun: null, ...more } as Task, 'Europe/Berlin', now);

  it.each([
    ['0 9 * * *', ['0 9 * * *'], null],
    ['0 9 * * 1-5', ['0 9 * * 1-5'], null],
    ['', ['* * * * *'], null],
    ['@daily', ['0 0 * * *'], null],
    ['@weekdays', ['0 0 * * 1-5'], null],
    ['0 0 9 * * *', ['0 9 * * *'], null],
    ['30 0 9 ? * MON', ['0 9 * * MON'], 'without its seconds, at the full minute'],
    ['5/15 * * * *', ['5-59/15 * * * *'], null],
    ['0 9 L * *', ['0 9 L * *'], null],
    ['0 9 * * 5L', ['0 9 * * 5L'], null],
    ['0 9 1-31 * MON', ['0 9 1-31 * MON'], null],
    ['0 9 */2 * 0-6', ['0 9 */2 * 0-6'], null],
  ])('cron %j', (value, schedules, note) => {
    expect(of('cron', value)).toEqual({ schedules, note });
  });

  it('with a date and a weekday fires on each of both, once a day', () => {
    const converted = of('cron', '0 9 1,15 * FRI') as { schedules: string[] };
    const fires = converted.schedules.flatMap((each) => nextFirings(each, 'UTC', now, 100)).map((at) => at.getTime());
    expect(new Set(fires).size).toBe(fires.length);
    const wanted: number[] = [];
    for (let day = Date.parse('2026-11-21T09:00:00Z'); day < Date.parse('2027-06-01'); day += 86_400_000) {
      const date = new Date(day);
      if ([1, 15].includes(date.getUTCDate()) || date.getUTCDay() === 5) wanted.push(day);
    }
    expect(fires.filter((at) => at < Date.parse('2027-06-01')).sort((a, b) => a - b)).toEqual(wanted);
  });

  it.each(['every day', '99 * * * *', '* * * *', 'x 0 9 * * *', '0 9 31 2 *'])('cron %j cannot be read', (value) => {
    expect(of('cron', value)).toEqual({ why: expect.stringContaining(value.replace(/^x /, '')) });
  });

  it('as an interval goes on from its next run', () => {
    const nextRun = new Date('2026-11-21T10:30:00Z');
    const converted = of('interval', '3600000', { nextRun }) as { schedules: string[] };
    expect(nextFirings(converted.schedules[0]!, 'UTC', now, 1)[0]!.toISOString()).toBe('2026-11-21T00:30:00.000Z');
    expect(of('interval', '5 minutes')).toEqual({
      schedules: ['@every 60s/0s'],
      note: '"5 minutes" was read as 5 milliseconds there; it ran once a minute there, too',
    });
    for (const wrong of ['soon', '0', '-5', '']) expect(of('interval', wrong)).toHaveProperty('why');
  });

  it('once is at the time of its next run, as the clock there showed it', () => {
    expect(of('once', '2026-12-01T09:00:00', { nextRun: new Date('2026-12-01T08:00:00Z') })).toEqual({
      schedules: ['@at 2026-12-01T09:00:00'],
      note: null,
    });
    expect(of('once', '2026-12-01T09:00:00')).toEqual({ schedules: ['@at 2026-12-01T09:00:00'], note: null });
    expect(of('once', '2026-01-01T09:00:00')).toEqual({ why: expect.stringContaining('is over') });
    expect(of('once', '60000')).toEqual({ why: '"60000" is not a date and time' });
    expect(of('other', 'x')).toEqual({ why: expect.stringContaining('never ran') });
  });
});

describe('a folder of another kind', () => {
  it.each([
    ['OpenClaw', { 'openclaw.json': '{}', '.env': 'LOG_LEVEL=info' }, /OpenClaw/],
    ['a copy that never ran', { 'package.json': '{"name":"nanoclaw"}' }, /NanoClaw that has never run/],
    ['a project', { 'package.json': '{"name":"shop"}', 'data/x.json': '', '.env': 'PORT=1' }, /the project "shop"/],
    ['our home', { 'chat-key': 'x' }, /import-home/],
    ['nothing', {}, /an empty folder/],
  ])('%s is named, and is no installation', (_, files, words) => {
    const folder = keep(mkdtempSync(join(tmpdir(), 'fetch-other-')));
    writeFiles(folder, files as Record<string, string>);
    expect(kindOfFolder(folder)).toMatch(words);
    expect(foldersOf(folder, false)).toBeNull();
    expect(readNanoClaw(folder, [])).toBeNull();
  });
});
