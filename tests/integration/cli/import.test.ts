import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { childEnvironment } from '../../../src/config.ts';
import { readSession } from '../../../src/store/chats/sessions/sessions.ts';
import { FETCH_SETTING } from '../../support/app.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { FAMILY, LIVED, makeNanoClaw, OWNER, writeFiles } from '../../support/nanoclaw-installation.ts';
import { makeOriginal, sessionOf, talk } from '../../support/original-installation.ts';
import { until } from '../../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));

let database: TestDatabase;
let home: string;
let from: string;
let userHome: string;
beforeEach(async () => {
  database = await startTestDatabase();
  home = mkdtempSync(join(tmpdir(), 'fetch-import-home-'));
  userHome = mkdtempSync(join(tmpdir(), 'fetch-import-user-'));
});
afterEach(async () => {
  await database.close();
  for (const folder of [home, from, userHome]) rmSync(folder, { recursive: true, force: true });
});

function begin(...options: string[]): { child: ChildProcess; ended: Promise<{ code: number | null; said: string }> } {
  const clean = Object.fromEntries(Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name)));
  const child = spawn(process.execPath, [ENTRY, 'import', '--from', from, ...options], {
    env: { ...clean, HOME: userHome, FETCH_HOME: home, DATABASE_URL: database.url },
  });
  let said = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (said += chunk));
  return { child, ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, said }))) };
}
const run = (...options: string[]) => begin(...options).ended;

/** All rows that an import may make. */
async function rows() {
  const { db } = database.store;
  const of = async (
    table:
      | 'transcript'
      | 'items'
      | 'turns'
      | 'threads'
      | 'chats'
      | 'routines'
      | 'crons'
      | 'wa_trusted'
      | 'wa_contacts'
      | 'imports',
  ) =>
    [
      table,
      Number(
        (
          await db
            .selectFrom(table)
            .select((e) => e.fn.countAll().as('count'))
            .executeTakeFirstOrThrow()
        ).count,
      ),
    ] as const;
  return Object.fromEntries(
    await Promise.all(
      (
        [
          'transcript',
          'items',
          'turns',
          'threads',
          'chats',
          'routines',
          'crons',
          'wa_trusted',
          'wa_contacts',
          'imports',
        ] as const
      ).map(of),
    ),
  );
}

const WORKFLOWS = JSON.stringify(
  {
    workflows: [
      {
        id: 'wf_nightly001',
        name: 'nightly',
        workspace: 'shop',
        steps: [{ tool: 'workspace_list' }, { tool: 'git_status' }, { tool: 'git_log', args: { workspace: 'other' } }],
      },
      { id: 'wf_broken0001', name: 'broken', steps: [{ name: 'gone', tool: 'no_such_tool' }] },
    ],
    cronJobs: [
      { id: 'cron_a', name: 'at night', schedule: '0 3 * * *', workflowId: 'wf_nightly001', enabled: true },
      { id: 'cron_b', name: 'odd', schedule: '5abc * * * *', workflowId: 'wf_nightly001', enabled: true },
    ],
    runs: [{}],
  },
  null,
  2,
);
const whole = () =>
  makeOriginal({
    env: 'OWNER_PHONE_NUMBER=491701234567\nGH_TOKEN=hush\nFETCH_RATE_LIMIT_MAX=12\nAGENT_MODEL=some-model\nENABLE_WHATEVER=true\nWORKSPACE_ROOT=/no/such/folder\nLOG_LEVEL=loud\n',
    files: {
      'data/whitelist.json': JSON.stringify({ trustedNumbers: ['491709999999', 'nobody'], version: 1 }, null, 2),
      'data/workflows.json': WORKFLOWS,
      'data/skills/debugging/SKILL.md': '---\nname: debugging\n---\n',
      'data/tools/deploy.json': '{"name":"deploy"}',
      'data/identity/COLLAR.md': '# me',
      'workspace/shop/README.md': 'shop',
    },
    sessions: [
      sessionOf('abcd1234', '491701234567@c.us', [
        ...talk(4),
        { role: 'tool', content: 'page', timestamp: '2026-02-01T11:00:00Z', toolCall: { name: 'web_fetch' } },
        { role: 'assistant', content: 'The page says so.', timestamp: '2026-02-01T11:01:00Z' },
        { role: 'user' },
      ]),
      sessionOf('efgh5678', '1555@discord', talk(2)),
    ],
  });

describe('fetch import', () => {
  it('takes over what another installation has, says what stays there, and changes nothing the second time', async () => {
    from = whole();
    const { code, said } = await run();
    expect(code, said).toBe(3);
    expect(said).toContain('session abcd1234 of 491701234567@c.us: 5 messages');
    for (const what of [
      'setting GH_TOKEN',
      'setting FETCH_RATE_LIMIT_MAX',
      'trusted number +491709999999',
      'workflow "nightly"',
      'cron "at night": 0 3 * * * in UTC',
      'skill debugging',
      'custom tool deploy.json',
    ])
      expect(said.split('Not taken over')[0]).toContain(`  - ${what}\n`);
    for (const what of [
      'setting ENABLE_WHATEVER: it has no meaning here',
      'setting WORKSPACE_ROOT: there is no such folder',
      'session efgh5678: its user has no address on WhatsApp',
      '1 result of tools in session abcd1234',
      '1 earlier run of workflows',
      'identity files (data/identity)',
      `project shop: bring it in with \`open ${from}/workspace/shop\``,
    ])
      expect(said.split('Not taken over')[1]).toContain(what);
    for (const problem of [
      `${from}/.env:7: LOG_LEVEL: `,
      `${from}/data/whitelist.json:4: This is no number`,
      `${from}/data/workflows.json:22: Workflow "broken" cannot run here.`,
      `${from}/data/workflows.json:41: Cron "odd"`,
      'Session abcd1234: 1 message cannot be read',
    ])
      expect(said.split('Could not be read')[1]).toContain(problem);
    expect(said).not.toContain('hush');
    expect(readFileSync(join(home, '.env'), 'utf8')).toContain('GH_TOKEN=hush\n');
    expect(readFileSync(join(home, 'skills/debugging/SKILL.md'), 'utf8')).toContain('debugging');

    const { db } = database.store;
    const { steps } = await db.selectFrom('routines').select('steps').executeTakeFirstOrThrow();
    expect(steps.map(({ args }) => args.workspace)).toEqual([undefined, 'shop', 'other']);
    const chat = await db.selectFrom('chats').selectAll().executeTakeFirstOrThrow();
    expect(chat).toMatchObject({ channel: 'whatsapp', address: '491701234567@s.whatsapp.net', autonomy: 'cautious' });
    const thread = await db.selectFrom('threads').selectAll().executeTakeFirstOrThrow();
    const session = await readSession(db, thread.id);
    expect(session!.messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'user: 0 about the heron',
      'assistant: 1 about the heron',
      'user: 2 about the heron',
      'assistant: 3 about the heron',
      'assistant: The page says so.',
    ]);
    expect(session!.messages[0]!.timestamp).toBe('2026-02-01T10:00:00.000Z');
    const { sources } = await db
      .selectFrom('transcript')
      .select('sources')
      .where('content', '=', 'The page says so.')
      .executeTakeFirstOrThrow();
    expect(sources).toEqual([{ kind: 'page', label: 'an earlier web_fetch' }]);
    expect(await db.selectFrom('crons').select(['chat_id', 'schedule', 'time_zone', 'enabled']).execute()).toEqual([
      { chat_id: chat.id, schedule: '0 3 * * *', time_zone: 'UTC', enabled: true },
    ]);

    const before = await rows();
    const again = await run();
    expect(again.said).toContain('Taken over (0)');
    expect(await rows()).toEqual(before);
    // what was deleted here since does not come back
    await db.deleteFrom('routines').execute();
    expect((await run()).said).toContain('Taken over (0)');
    expect(await db.selectFrom('routines').select('id').execute()).toEqual([]);
  });

  it('shows in a dry run what would happen, and changes nothing', async () => {
    from = whole();
    const before = await rows();
    const { said } = await run('--dry-run');
    expect(said).toContain('Would be taken over (10):');
    expect(said).toContain('session abcd1234 of 491701234567@c.us: 5 messages');
    expect(await rows()).toEqual(before);
    expect(readdirSync(home)).toEqual([]);
  });

  it('loses nothing when it is killed in the middle, and goes on the next time', async () => {
    const people = Array.from({ length: 40 }, (_, at) =>
      sessionOf(`session${at}`, `4917000000${10 + at}@c.us`, talk(200, `bird ${at}`)),
    );
    from = makeOriginal({ sessions: people, files: { 'data/workflows.json': WORKFLOWS } });
    for (const enough of [1, 12, 25]) {
      const { child, ended } = begin();
      await until(`${enough} sessions are taken over`, async () => (await rows()).imports! >= enough);
      child.kill('SIGKILL');
      await ended;
      // a session is there as a whole or not at all
      const { imports, transcript, items } = await rows();
      expect([transcript, items]).toEqual([imports! * 200, imports! * 200]);
    }
    await run();
    expect(await rows()).toMatchObject({
      transcript: 8_000,
      items: 8_000,
      turns: 4_000,
      threads: 41,
      routines: 1,
      crons: 1,
    });
  });

  it('keeps what is here: settings, skills of the same name, and chats in which something was said', async () => {
    from = whole();
    await run();
    const { db } = database.store;
    await db.deleteFrom('imports').execute();
    writeFileSync(join(home, '.env'), 'GH_TOKEN=mine\n');
    writeFileSync(join(home, 'skills/debugging/SKILL.md'), 'mine');
    const { said } = await run();
    expect(said).toContain('setting GH_TOKEN: it has another value here, which stays');
    expect(said).toContain('skill debugging: there is another one of this name here, which stays');
    expect(said).toContain(
      'session abcd1234 of 491701234567@c.us: 5 messages: something was said in this chat here already',
    );
    expect(readFileSync(join(home, '.env'), 'utf8')).toContain('GH_TOKEN=mine\n');
    expect(readFileSync(join(home, 'skills/debugging/SKILL.md'), 'utf8')).toBe('mine');
  });

  it('names the file and the line of what is broken, follows no link, and takes over the rest', async () => {
    from = makeOriginal({
      files: {
        'data/workflows.json': '{\n  "workflows": [\n    {"id": 1,}\n',
        'data/whitelist.json': '{\n  "trustedNumbers": 7\n}',
        'data/sessions.db': 'This is no database.',
        'data/sessions.json': JSON.stringify(
          {
            sessions: [{ id: 'x' }, sessionOf('older123', '491701234567@c.us', talk(2, 'a \0 zero and half a \ud83d'))],
          },
          null,
          1,
        ),
        'data/tools/ok.json': '{}',
        'data/tools/\u001b[2Jwipe.json': '{}',
      },
    });
    mkdirSync(join(from, 'data/skills/bad'), { recursive: true });
    writeFileSync(join(from, 'data/skills/bad/SKILL.md'), 'x');
    symlinkSync('/etc/passwd', join(from, 'data/skills/bad/passwd'));
    symlinkSync('/etc/passwd', join(from, '.env'));
    const { code, said } = await run();
    expect(code).toBe(3);
    const data = join(from, 'data');
    for (const problem of [
      `${from}/.env: It is a link`,
      `${data}/workflows.json:3: It is no JSON`,
      `${data}/whitelist.json:2: "trustedNumbers" must be a list.`,
      `${data}/sessions.db: It cannot be read: file is not a database`,
      `${data}/sessions.json:3: Session 1 cannot be read: userId`,
      `${data}/skills/bad/passwd: It is a link`,
    ])
      expect(said).toContain(problem);
    expect(said.split('Not taken over')[0]).toContain('session older123');
    expect(said).toContain('custom tool ok.json');
    expect(said).toContain('wipe.json: Its name has characters that are not allowed.');
    expect(said).not.toContain('\u001b');
    expect(existsSync(join(home, 'skills/bad'))).toBe(false);
  });

  it('takes over NanoClaw: chats, schedules with their runs, folders and settings, once', async () => {
    from = makeNanoClaw(LIVED);
    writeFiles(userHome, {
      '.config/nanoclaw/sender-allowlist.json': '{"default":{"allow":"*","mode":"trigger"},"chats":{}}',
    });
    const { said: dry } = await run('--dry-run');
    expect(dry).toContain('Would be taken over (14):');
    expect(readdirSync(home)).toEqual([]);
    const { code, said } = await run();
    expect(code, said).toBe(0);
    expect(said).toContain('Taken over (14):');
    expect(said).toContain('list of who may write: nobody is let in by it');
    expect(said).not.toContain('hush');
    const { db } = database.store;
    const chats = await db.selectFrom('chats').select(['id', 'channel', 'address']).orderBy('address').execute();
    expect(chats.map(({ channel, address }) => [channel, address])).toEqual([
      ['whatsapp', FAMILY],
      ['whatsapp', OWNER],
    ]);
    const family = chats[0]!.id;
    const history = await db
      .selectFrom('transcript')
      .innerJoin('threads', 'threads.id', 'transcript.thread_id')
      .select(['role', 'content', 'sources'])
      .where('chat_id', '=', family)
      .orderBy('transcript.ord')
      .execute();
    expect(history).toEqual([
      { role: 'user', content: 'Ann (member): @Andy when is the party?', sources: [{ kind: 'member', label: 'Ann' }] },
      { role: 'assistant', content: 'On Friday.', sources: [{ kind: 'unknown', label: 'an earlier answer' }] },
      { role: 'user', content: 'Bob (member): Andy: I am not Andy', sources: [{ kind: 'member', label: 'Bob' }] },
      { role: 'user', content: 'Me (owner): I bring\n  the cake', sources: [] },
    ]);
    const crons = await db
      .selectFrom('crons')
      .innerJoin('routines', 'routines.id', 'crons.routine_id')
      .select(['crons.chat_id', 'crons.name', 'schedule', 'time_zone', 'enabled', 'steps'])
      .orderBy('crons.name')
      .orderBy('schedule')
      .execute();
    expect(crons.map(({ name, schedule, enabled }) => [name, schedule, enabled])).toEqual([
      ['Prompt of task-1', '0 9 1 * *', true],
      ['Prompt of task-1 (2)', `0 9 ${Array.from({ length: 30 }, (_, at) => at + 2).join()} * MON`, true],
      ['Prompt of task-2', '@every 3600s/0s', false],
      ['Prompt of task-6', '*/5 * * * *', false],
    ]);
    expect(new Set(crons.map((cron) => `${cron.chat_id} ${cron.time_zone}`))).toEqual(
      new Set([`${family} Europe/Berlin`]),
    );
    expect(crons.map(({ steps }) => steps[0]!.args.context)).toEqual(['group', 'group', undefined, 'group']);
    const runs = await db
      .selectFrom('routine_runs')
      .select(['status', 'summary', 'started_at', 'ended_at'])
      .orderBy('ended_at')
      .execute();
    expect(runs.map(({ status, summary }) => [status, summary])).toEqual([
      ['completed', 'The list is empty.'],
      ['failed', 'No network'],
    ]);
    expect(runs[0]!.started_at.toISOString()).toBe('2026-03-01T09:00:00.000Z');
    const settings = readFileSync(join(home, '.env'), 'utf8');
    for (const line of [
      'OWNER_PHONE_NUMBER=491701234567',
      'FETCH_TRIGGER=@Andy',
      'WHATSAPP_NUMBER=dedicated',
      'FETCH_TIME_ZONE=Europe/Berlin',
    ])
      expect(settings).toContain(line);
    expect(readFileSync(join(home, 'nanoclaw/groups/family/CLAUDE.md'), 'utf8')).toContain('cake');
    expect(existsSync(join(home, 'nanoclaw/groups/family/logs'))).toBe(false);
    const records = JSON.parse(readFileSync(join(home, 'nanoclaw/records.json'), 'utf8'));
    expect(records.tasks).toHaveLength(7);
    expect(records.groups.find(({ folder }: { folder: string }) => folder === 'tg_work').messages).toHaveLength(1);
    expect(records['sender-allowlist.json']).toMatchObject({ default: { allow: '*' } });

    const before = await rows();
    rmSync(join(home, 'nanoclaw/groups/family'), { recursive: true });
    await db.deleteFrom('crons').where('name', '=', 'Prompt of task-6').execute();
    expect((await run()).said).toContain('Taken over (0)');
    expect(existsSync(join(home, 'nanoclaw/groups/family'))).toBe(false);
    expect(await rows()).toEqual({ ...before, crons: before.crons! - 1 });
  });

  it('says so when there is no installation', async () => {
    from = mkdtempSync(join(tmpdir(), 'fetch-nothing-'));
    expect(await run()).toEqual({ code: 1, said: expect.stringContaining('is no installation of Fetch') });
    writeFiles(from, { 'openclaw.json': '{}', '.env': 'LOG_LEVEL=info', 'data/x.json': '' });
    expect(await run()).toEqual({ code: 1, said: expect.stringContaining('is an installation of OpenClaw') });
  });
});
