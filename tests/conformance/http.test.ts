import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMcpConfig } from '../../src/adapters/mcp/configured.ts';
import type { ThreadRecord, TurnRecord } from '../../src/contracts/records.ts';
import type { Profile } from '../../src/contracts/workspace-ops.ts';
import { declarationOf } from '../../src/domain/extensions/mcp-declaration.ts';
import { saveWorkspace } from '../../src/store/kennel/workspaces/workspaces.ts';
import { decideVersion, noteFound, noteProblem } from '../../src/store/owner/extensions.ts';
import { saidTurn } from '../support/said.ts';
import { type ApiStack, startApi } from './api-stack.ts';
import { differences } from './differences.ts';
import { type Answer, type Exchange, loadGolden, normalise, send } from './golden.ts';
import { notCompared } from './not-compared.ts';
import { shapeOf, sharedOrder } from './skeleton.ts';

const TOKEN = 'tok-golden-1';
const MODEL = 'deepseek-v4-pro';
const auth = { Authorization: `Bearer ${TOKEN}` };
const json = { ...auth, 'Content-Type': 'application/json' };

let api: ApiStack;
/** servers with other settings, by the beginning of the cases that were recorded with them */
let others: Array<[RegExp, number]>;
/** no turn; one with a title; one that runs */
let quiet: ThreadRecord;
let titled: ThreadRecord;
let busy: { thread: ThreadRecord; turn: TurnRecord };
/**
 * a copy of the one that runs; one with a turn that has ended; that one archived, with settings; two that are sessions
 */
let forked: ThreadRecord;
let spoken: ThreadRecord;
let archived: ThreadRecord;
let saved: ThreadRecord;
let deleted: ThreadRecord;
let resumed: string;
/** answers of a server that nobody has used yet */
const whileEmpty = new Map<string, Answer>();

const post = async <T>(path: string, body: unknown): Promise<T> =>
  JSON.parse((await send(api.port, 'POST', path, json, JSON.stringify(body))).body) as T;
const patch = (id: string, body: unknown): Promise<Answer> =>
  send(api.port, 'PATCH', `/v1/threads/${id}`, json, JSON.stringify(body));
const newThread = (fields = {}) => post<ThreadRecord>('/v1/threads', fields);
const spokenThread = async (
  fields: object,
  title: string | null,
  [text, answer]: [string, string],
): Promise<ThreadRecord> => {
  const thread = await newThread(fields);
  await saidTurn(api.store.db, thread.id, text, answer);
  if (title) await patch(thread.id, { title });
  return thread;
};
const SAVED: [string, string] = ['SCRIPT:[{"think": "t", "say": "saved answer"}]', 'saved answer'];

beforeAll(async () => {
  api = await startApi({ token: TOKEN, model: MODEL, corsOrigins: 'http://localhost:5173' });
  for (const { case: name, request } of loadGolden())
    if (name.startsWith('http/empty/'))
      whileEmpty.set(name, await send(api.port, 'GET', request.line.split(' ')[1]!, auth));
  quiet = await newThread();
  titled = await newThread();
  await patch(titled.id, { title: 'Hello' });
  const thread = await newThread();
  busy = await post(`/v1/threads/${thread.id}/turns`, { prompt: 'work' });
  await bringAlong(api);
  await patch(thread.id, { title: 'while active' });
  forked = await post(`/v1/threads/${busy.thread.id}/fork`, {});
  spoken = await spokenThread({}, 'while active', ['hello', 'hello there friend']);
  saved = await spokenThread({ mode: 'plan', system_prompt: 'SP' }, null, SAVED);
  deleted = await spokenThread({}, null, SAVED);
  resumed = (
    await post<{ thread_id: string }>(`/v1/sessions/${saved.id}/resume-thread`, {
      model: 'deepseek-v4-flash',
      mode: 'agent',
    })
  ).thread_id;
  const git = { branch: 'main', head: '6dd1af6cc0ffee', modified: 1, untracked: 0, ahead: 0, behind: 0, remote: null };
  const profile = { language: null, framework: null, packageManager: null, test: null, git };
  await saveWorkspace(api.store.db, { host: 'here', name: 'demo', path: api.workspace, profile });
  archived = await spokenThread({ archived: true, system_prompt: 'SP', auto_approve: true }, 'TT', ['hello', 'hi']);
  others = [
    [/^auth\/env_/, await api.another({ DEEPSEEK_RUNTIME_TOKEN: 'env-tok' })],
    [/^auth\/generated_/, await api.another({})],
    [/^auth\/special_/, await api.another({ DEEPSEEK_RUNTIME_TOKEN: 'abc ABC+/?:=&%' })],
    [
      /^cors\/env_/,
      await api.another({
        DEEPSEEK_RUNTIME_TOKEN: TOKEN,
        DEEPSEEK_CORS_ORIGINS: 'http://a.example, http://b.example,,no origin',
      }),
    ],
  ];
}, 120_000);
afterAll(() => api?.close());

/** What the owner had in the recording: a skill, and four MCP servers of which one has answered. */
async function bringAlong({ config, store: { db } }: ApiStack): Promise<void> {
  const mcpServers = {
    web: {
      url: 'http://127.0.0.1:1/mcp?key=secret',
      headers: { Authorization: 'secret' },
      tools: { x: { disabled: true } },
    },
    demo: { command: 'codewhale-tui', args: ['--key', 'secret'], env: { KEY: 'secret' } },
    off: { command: '/bin/true', disabled: true },
    broken: { command: '/nonexistent/cmd' },
  };
  writeFileSync(join(config.FETCH_HOME, 'mcp.json'), JSON.stringify({ mcpServers }));
  const { servers } = await readMcpConfig(config);
  const demo = servers.find(({ server }) => server.name === 'demo')!.server;
  const { hash } = await noteFound(
    db,
    declarationOf(demo, [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }]),
  );
  await decideVersion(db, hash, true, { role: 'owner' });
  for (const name of ['broken', 'web']) await noteProblem(db, 'mcp', name, 'It does not answer.');
  await noteFound(db, {
    kind: 'skill',
    name: 'demo',
    description: 'A demo skill',
    body: 'secret',
    files: [],
    tools: [],
  });
}
/** The thread that a recorded case was about, where its name alone does not say it. */
const subjects: Array<[RegExp, () => string]> = [
  [/^http\/(thread\/(fork|resume|resume_body)|compact\/(?!empty_thread|good_noreason)\w+)$/, () => spoken.id],
  [/^http\/thread\/fork_detail$/, () => forked.id],
  [/^http\/thread\/fork_of_archived$/, () => archived.id],
  [/^http\/(thread\/resume_active|sessions\/create_active)$/, () => busy.thread.id],
  [/^http\/sessions\/clean_create$/, () => saved.id],
  [/^http\/sessions\/clean_resume_detail$/, () => resumed],
];

const withRunningTurn =
  /\/(turns\/(conflict|steer_good|steer_wrong_id|steer_old_id|interrupt_good|interrupt_wrong_id)|thread\/get_active)$/;

/** Times that the recording masks. */
const TIMES: Record<string, string[]> = {
  since_gt_until: ['2026-02-01T00:00:00Z', '2026-01-01T00:00:00Z'],
  plus_unescaped: ['2026-01-01T00:00:00+00:00'],
};

/** Puts real ids where the recording has placeholders, and restores bodies that it cut. */
async function replay(exchange: Exchange): Promise<Answer> {
  const name = exchange.case.split('/').at(-1)!;
  const [method, path] = exchange.request.line.split(' ') as [string, string];
  const starts = /^http\/(turns\/(good|active_start|blank_model|overrides)|patch\/(?!after_multi_bad)\w+)$/.test(
    exchange.case,
  );
  const subject = subjects.find(([cases]) => cases.test(exchange.case))?.[1]();
  const thread = name.endsWith('_unknown')
    ? 'thr_missing'
    : subject !== undefined
      ? subject
      : withRunningTurn.test(exchange.case)
        ? busy.thread.id
        : /^http\/(thread_patch\/|patch\/after_)/.test(exchange.case)
          ? titled.id
          : starts || exchange.case === 'http/compact/empty_thread'
            ? (await newThread()).id
            : exchange.case === 'http/compact/good_noreason'
              ? (await spokenThread({}, 'while active', SAVED)).id
              : quiet.id;
  const turn = withRunningTurn.test(exchange.case) && name.endsWith('_good') ? busy.turn.id : 'turn_ffffffffffffffff';
  const fill = (text: string) =>
    text
      .replaceAll('thr<1>', thread)
      .replaceAll('turn<1>', turn)
      .replaceAll('TOKEN', TOKEN)
      .replaceAll('<ws>', api.workspace)
      .replaceAll('uuid<1>', name === 'clean_delete' ? deleted.id : saved.id);
  const times = [...(TIMES[name] ?? [])];
  const asked = path.replaceAll('<ts>', () => times.shift() ?? '2001-01-01T00:00:00Z');
  const port = /127_0_0_1_(\d+)/.exec(name)?.[1] ?? '';
  const headers = Object.fromEntries(
    Object.entries(exchange.request.headers).map(([key, value]) => [key, fill(value).replace('<port>', port)]),
  );
  let body: Buffer | string | null = exchange.request.body === null ? null : fill(exchange.request.body);
  const size = /\.\.\. (\d+) chars$/.exec(exchange.request.body ?? '')?.[1];
  if (size && name !== 'active_start') body = `{"system_prompt":"${'x'.repeat(Number(size) - 20)}"}`;
  if (name === 'badutf8') body = Buffer.from('{"mode":"\xff"}', 'latin1');
  const server = others.find(([cases]) => cases.test(exchange.case))?.[1] ?? api.port;
  return send(server, method, fill(asked), headers, body);
}

/** The recording, in the same placeholders as our normalised answer. */
const comparable = (text: string): unknown => {
  const plain = renumbered(
    normalise(text.replaceAll(saved.id, 'uuid<1>'), api.workspace)
      .replaceAll(join(api.config.FETCH_HOME, 'skills'), '<ws>/.agents/skills')
      .replaceAll('thr_missing', 'thr<1>')
      .replaceAll('turn_ffffffffffffffff', 'turn<1>')
      .replace('turn<1>ffffffff', 'turn<1>'),
  );
  try {
    return JSON.parse(plain);
  } catch {
    return plain;
  }
};

/** The recording numbers what a whole session had seen before. */
function renumbered(text: string): string {
  const seen = new Map<string, number>();
  const count: Record<string, number> = {};
  return text.replace(/\b(thr|turn|item)<\d+>/g, (placeholder, kind: string) => {
    if (!seen.has(placeholder)) {
      count[kind] = (count[kind] ?? 0) + 1;
      seen.set(placeholder, count[kind]);
    }
    return `${kind}<${seen.get(placeholder)}>`;
  });
}

/** A body that tells what its session had made before: the records in it have the recorded fields. */
const lists =
  /^http\/(threads_list\/(arch_false|arch_only|final|incl_true|limit1)|threads_summary\/(active|arch_only|final|incl|limit0)|stream\/list_after_archived_only)$/;
/** What a summary has besides the recorded fields. */
const ADDED = ['channel', 'label', 'state', 'cost_usd', 'pending'];
const withoutAdded = (ours: unknown): unknown =>
  Array.isArray(ours)
    ? ours.map((each) => Object.fromEntries(Object.entries(each as object).filter(([name]) => !ADDED.includes(name))))
    : ours;

function haveRecordedFields(theirs: unknown, ours: unknown): void {
  if (typeof theirs === 'string') {
    expect(theirs, 'a body that the recording cut').toMatch(/\.\.\. \d+ chars$/);
    return;
  }
  const records = (body: unknown) => {
    if (Array.isArray(body)) return [body[0]];
    const { thread, turns, items } = body as {
      thread: object;
      turns: Array<{ status: string }>;
      items: Array<{ kind: string }>;
    };
    return [
      thread,
      turns.find((turn) => turn.status === 'in_progress'),
      items.find((item) => item.kind === 'user_message'),
    ];
  };
  expect(Object.keys(ours as object)).toEqual(expect.arrayContaining(Object.keys(theirs as object)));
  const found = records(ours);
  for (const [at, record] of records(theirs).entries()) {
    // the recorded thread had been given a title, or had no turn
    const fields = [...shapeOf(record)].filter((field) => !/^(title:string|latest_turn_(id|status):.*)$/.test(field));
    expect([...shapeOf(found[at])]).toEqual(expect.arrayContaining(fields));
  }
}

describe('the recorded exchanges of the reference server', () => {
  for (const exchange of loadGolden()) {
    if (notCompared.some(({ cases }) => cases.test(exchange.case))) continue;
    const different = differences.find(({ cases }) => cases.test(exchange.case));
    it(`${exchange.case} is answered ${different ? `in our own way: ${different.why}` : 'alike'}`, async () => {
      const { response } = exchange;
      const answer = whileEmpty.get(exchange.case) ?? (await replay(exchange));
      expect(answer.status).toBe(different?.status ?? response.status);
      expect(answer.headers.vary).toBe(response.headers.vary);
      expect(
        (answer.headers['access-control-allow-origin'] as string | undefined)?.replace(
          /127\.0\.0\.1:\d+/,
          '127.0.0.1:<port>',
        ),
      ).toBe(response.headers['access-control-allow-origin']);
      expect(answer.headers['access-control-allow-methods']).toBe(response.headers['access-control-allow-methods']);
      expect(answer.headers['access-control-allow-headers']).not.toBe('*');
      expect(answer.headers.allow).toBe(different?.allow ?? response.headers.allow);
      if (different?.body) return expect(answer.body).toMatch(different.body);
      if (different?.status === undefined)
        expect(answer.headers['content-type']).toBe(response.headers['content-type']);
      if (/just_under$|turns\/(active_start|steer_good|interrupt_good)$/.test(exchange.case)) return;
      const ours = comparable(answer.body);
      const theirs = comparable(response.body);
      const order = sharedOrder(ours, theirs);
      expect(order.ours).toEqual(order.theirs);
      if (lists.test(exchange.case) || exchange.case === 'http/thread/get_active')
        return haveRecordedFields(theirs, JSON.parse(answer.body));
      // the title and the recorded thread's settings came from earlier requests of that session
      if (exchange.case.startsWith('http/turns/') && response.status === 201) {
        const { turn } = theirs as { turn: Record<string, unknown> };
        return expect((ours as { turn: unknown }).turn).toEqual(turn);
      }
      expect(exchange.case.startsWith('http/threads_summary/') ? withoutAdded(ours) : ours).toEqual(
        /^(http\/)?(auth|cors)\//.test(exchange.case) && response.body === '[]' ? expect.any(Array) : theirs,
      );
    });
  }
});

describe('PATCH of a thread', () => {
  const thread = (answer: Answer) => JSON.parse(answer.body) as ThreadRecord;
  const updates = async (id: string) => {
    const events = api.store.db
      .selectFrom('events')
      .select('payload')
      .where('thread_id', '=', id)
      .where('event', '=', 'thread.updated')
      .orderBy('seq');
    return (await events.execute()).map(({ payload }) => (payload as { changes: object }).changes);
  };

  it('changes what it names, says so in one event, and does nothing and says nothing where nothing changes', async () => {
    const { id, updated_at } = await newThread();
    const changes = { allow_shell: true, model: ' m2 ', title: ' My title ', system_prompt: ' sp ', archived: true };
    const changed = thread(await patch(id, changes));
    expect(changed).toMatchObject({ ...changes, model: 'm2' });
    expect(changed.updated_at > updated_at).toBe(true);
    expect(thread(await patch(id, { ...changes, auto_approve: null, unknown: 1 }))).toEqual(changed);
    expect(await updates(id)).toEqual([{ ...changes, model: 'm2' }]);
    expect(thread(await patch(id, { title: ' ', system_prompt: '' }))).not.toHaveProperty('title');
    expect((await updates(id))[1]).toEqual({ title: null, system_prompt: null });
  });

  it('leaves the workspace of a turn that runs alone', async () => {
    const { status, body } = await patch(busy.thread.id, { workspace: '/elsewhere', title: 'not taken either' });
    expect([status, body]).toEqual([400, expect.stringContaining('has a turn that runs')]);
    expect((await patch(busy.thread.id, { title: 'Busy' })).status).toBe(200);
  });

  it('knows no thread that is not there, whatever its name', async () => {
    for (const id of ['thr_missing', '%00', "';drop table threads;--"])
      expect((await patch(encodeURIComponent(id), { title: 'x' })).status).toBe(404);
  });

  it('loses none of many changes at the same time', async () => {
    const { id } = await newThread();
    await Promise.all([
      patch(id, { title: 'a' }),
      patch(id, { mode: 'plan' }),
      patch(id, { model: 'm3' }),
      patch(id, { auto_approve: true }),
    ]);
    expect(thread(await patch(id, { allow_shell: false }))).toMatchObject({
      title: 'a',
      mode: 'plan',
      model: 'm3',
      auto_approve: true,
    });
    expect(await updates(id)).toHaveLength(4);
  });
});

describe('turns over HTTP', () => {
  it('the same Idempotency-Key gives the same turn, also while it runs', async () => {
    const thread = await newThread();
    const start = () =>
      send(
        api.port,
        'POST',
        `/v1/threads/${thread.id}/turns`,
        { ...json, 'Idempotency-Key': 'once' },
        '{"prompt":"hello"}',
      );
    const [first, second] = [await start(), await start()];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(JSON.parse(second.body).turn.id).toBe(JSON.parse(first.body).turn.id);
  });

  it('exactly one of many simultaneous starts wins, and the others are conflicts', async () => {
    const thread = await newThread();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        send(api.port, 'POST', `/v1/threads/${thread.id}/turns`, json, '{"prompt":"race"}'),
      ),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
  });

  it('an approval that nobody asked for is 404, and a decision that is none is 400 before the id is looked at', async () => {
    const unknown = await send(api.port, 'POST', '/v1/approvals/x', json, '{"decision":"allow"}');
    expect([unknown.status, JSON.parse(unknown.body).error.message]).toEqual([404, "no pending approval with id 'x'"]);
    const invalid = await send(api.port, 'POST', '/v1/approvals/x', json, '{"decision":"yes"}');
    expect(JSON.parse(invalid.body)).toEqual({
      error: { message: 'invalid decision \'yes\'; expected "allow" or "deny"', status: 400 },
    });
  });
});

describe('what the owner brought along', () => {
  const ask = async (path: string) => (await send(api.port, 'GET', path, auth)).body;

  it('lists the tools of the servers that were agreed to, by server', async () => {
    const look = { server: 'demo', name: 'look', prefixed_name: 'mcp_demo_look', description: 'Looks.' };
    for (const path of ['/v1/apps/mcp/tools', '/v1/apps/mcp/tools?server=demo'])
      expect(JSON.parse(await ask(path))).toEqual({
        tools: [{ ...look, input_schema: expect.objectContaining({ type: 'object' }) }],
      });
    for (const server of ['web', 'nobody', ''])
      expect(await ask(`/v1/apps/mcp/tools?server=${server}`)).toBe('{"tools":[]}');
  });

  it('tells no secret and no text of a skill', async () => {
    for (const path of ['/v1/apps/mcp/servers', '/v1/apps/mcp/tools', '/v1/skills', '/v1/workspace/status'])
      expect(await ask(path)).not.toContain('secret');
  });

  it('says of a folder that is no skill why it is not used', async () => {
    await noteProblem(api.store.db, 'skill', 'broken', 'It has no description, by which it is chosen.');
    expect(JSON.parse(await ask('/v1/skills')).warnings).toEqual([
      'broken: It has no description, by which it is chosen.',
    ]);
  });

  it('tells the state of a workspace as it was seen last, and of one that nobody saw that nothing is known', async () => {
    // the recorded summaries had one
    await api.store.db.deleteFrom('workspaces').where('path', '=', api.workspace).execute();
    const nothing = { workspace: api.workspace, git_repo: false, branch: null, head: null, dirty: false };
    const none = { staged: 0, unstaged: 0, untracked: 0, ahead: null, behind: null, seen_at: null };
    expect(JSON.parse(await ask('/v1/workspace/status'))).toEqual({ ...nothing, ...none });
    const git = {
      branch: 'main',
      head: 'abcdef0123456789',
      modified: 2,
      staged: 1,
      unstaged: 2,
      untracked: 3,
      ahead: 1,
      behind: 0,
      upstream: true,
      remote: null,
    };
    const profile: Profile = { language: null, framework: null, packageManager: null, test: null, git };
    const row = { host: 'h', name: 'web', path: api.workspace };
    await saveWorkspace(api.store.db, { ...row, profile });
    const { seen_at, ...state } = JSON.parse(await ask('/v1/workspace/status'));
    expect(state).toEqual({
      ...{ workspace: api.workspace, git_repo: true, branch: 'main', head: 'abcdef0', dirty: true },
      ...{ staged: 1, unstaged: 2, untracked: 3, ahead: 1, behind: 0 },
    });
    expect(Date.parse(seen_at)).toBeLessThanOrEqual(Date.now());
    // as a release before left it
    const { staged: _, unstaged: __, upstream: ___, ...older } = git;
    await saveWorkspace(api.store.db, { ...row, profile: { ...profile, git: { ...older, branch: null } } });
    expect(JSON.parse(await ask('/v1/workspace/status'))).toMatchObject({
      branch: null,
      staged: 0,
      unstaged: 2,
      ahead: 1,
    });
    await saveWorkspace(api.store.db, { ...row, profile: { ...profile, git: { ...git, upstream: false, ahead: 0 } } });
    expect(JSON.parse(await ask('/v1/workspace/status'))).toMatchObject({ ahead: null, behind: null });
  });
});
