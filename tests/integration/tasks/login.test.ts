import { execFile } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { containerUser } from '../../../src/adapters/kennel/docker/engine.ts';
import type { Finding } from '../../../src/cli/checks/finding.ts';
import { childEnvironment } from '../../../src/config.ts';
import { FETCH_SETTING, roleLog, startTestApp, type TestApp } from '../../support/app.ts';
import { requireDocker } from '../../support/docker.ts';
import {
  containersOf,
  findTask,
  inState,
  kennelReady,
  linesOf,
  startTask,
  workspace,
} from '../../support/kennel-app.ts';
import { IS_ROOT } from '../../support/other-user.ts';
import { until } from '../../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
const TOKEN = 'tok_practice_0123456789abcdefghijklmnop';
const OTHER = 'tok_claude_0123456789abcdefghijklmnopqr';
const RECORD = ['commands.ndjson', 'log.ndjson', 'spec.json'];

/** The agent's container, as it is seen by what the agent runs. */
const LOOK = `
exec > look.txt 2>&1
stat -c 'own %a' ~/.practice/login.json
cat ~/.practice/login.json; echo
stat -c 'mounted %a' /run/fetch-login
echo forged > /run/fetch-login
rm -f /run/fetch-login
mv ~/.practice/login.json /run/fetch-login
grep -rlF ${OTHER} ~ /run /tmp /workspace --exclude=look.sh
echo renewed > ~/.practice/login.json && echo wrote
env | sort > env.txt
`;
/** An agent may put its copy elsewhere in the run folder, and lock it away. */
const STASH =
  'mkdir -p /run/fetch/stash/deep && cp ~/.practice/login.json /run/fetch/stash/deep && chmod 0 /run/fetch/stash/deep /run/fetch/stash; mv ~/.practice/login.json ~/moved';

let folder: string;
let app: TestApp;
let env: Record<string, string>;
const login = (): string => join(folder, 'practice.json');
const put = (name: string, token: string): void => {
  writeFileSync(join(folder, name), JSON.stringify({ token }), { mode: 0o600 });
  const { uid, gid } = containerUser();
  if (IS_ROOT) chownSync(join(folder, name), uid, gid);
};

beforeAll(async () => {
  await requireDocker();
  folder = mkdtempSync(join(tmpdir(), 'fetch-login-test-'));
  put('practice.json', TOKEN);
  put('claude.json', OTHER);
  env = {
    FETCH_AUTONOMY: 'autonomous',
    FETCH_KENNEL_LOGINS: `practice=${login()},claude=${join(folder, 'claude.json')},gemini=${join(folder, 'none.json')}`,
  };
  app = await startTestApp(env);
  await kennelReady(app);
}, 600_000);
afterAll(async () => {
  await app?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => put('practice.json', TOKEN));

const runs = (): string => join(app.home, 'kennel', 'runs');
const scripts = async (name: string): Promise<string> => {
  const { path, git } = await workspace(app, name);
  writeFileSync(join(path, 'look.sh'), LOOK);
  writeFileSync(join(path, 'stash.sh'), STASH);
  git('add', '.');
  git('commit', '-qm', 'scripts');
  return path;
};
const onlyTheRecordIsLeft = async (id: string): Promise<void> => {
  await until('the run is forgotten', () => readdirSync(join(runs(), id)).sort().join() === RECORD.join());
  for (const name of RECORD) expect(readFileSync(join(runs(), id, name), 'utf8')).not.toContain(TOKEN);
};
const waits = (id: string) =>
  until('it waits', async () =>
    (await linesOf(app, id)).some(
      (line) => line.type === 'tool' && line.title.includes('wait') && line.status === 'in_progress',
    ),
  );

describe('a task of an agent with a log-in', () => {
  it('has a copy in its HOME, the file itself read only, no log-in of another agent, and no way to the model proxy in its environment', async () => {
    const path = await scripts('look');
    const before = statSync(login());
    const { id } = await startTask(app, 'run sh look.sh; run cat /run/fetch-login', { workspace: 'look' });
    await inState(app, id, 'completed');
    const seen = readFileSync(join(path, 'look.txt'), 'utf8').split('\n').filter(Boolean);
    expect(seen.slice(0, 3)).toEqual(['own 600', JSON.stringify({ token: TOKEN }), 'mounted 600']);
    const refused = seen.slice(3, -1).join('\n');
    expect(refused).toMatch(/read-only file system/i);
    expect(seen.slice(3, -1).every((line) => /fetch-login/i.test(line) && /read-only|busy/i.test(line))).toBe(true);
    expect(seen.at(-1)).toBe('wrote');
    expect(readFileSync(join(path, 'env.txt'), 'utf8')).not.toMatch(/PRACTICE_|sk-fetch|127\.0\.0\.1:4010/);
    // what it printed is hidden where it is kept
    expect(JSON.stringify(await linesOf(app, id))).toContain('[hidden]');
    expect(JSON.stringify(await linesOf(app, id))).not.toContain(TOKEN);
    expect(readFileSync(login(), 'utf8')).toBe(JSON.stringify({ token: TOKEN }));
    expect(statSync(login())).toMatchObject({ ino: before.ino, mode: before.mode, uid: before.uid });
    await onlyTheRecordIsLeft(id);
  });

  it.each([
    ['completed', '', null],
    ['failed', '; fail the disk is on fire', null],
    ['cancelled', '; wait 600', 'stop'],
  ] as const)(
    'leaves nothing of it in the run folder when it is %s, wherever the agent has put it',
    async (state, more, word) => {
      await scripts(`left-${state}`);
      const { thread, id } = await startTask(app, `run sh stash.sh${more}`, { workspace: `left-${state}` });
      if (word) {
        await waits(id);
        expect(existsSync(join(runs(), id, 'stash'))).toBe(true);
        await app.say(thread, word);
      }
      await inState(app, id, state);
      await onlyTheRecordIsLeft(id);
    },
  );

  it('goes on with it in a new container, and is forgotten after that too', async () => {
    const path = await scripts('reborn');
    const { id } = await startTask(
      app,
      'run sh -c "echo renewed > ~/.practice/login.json"; wait 5; run cp /run/fetch/home/.practice/login.json kept.txt',
      {
        workspace: 'reborn',
      },
    );
    await waits(id);
    await promisify(execFile)('docker', ['kill', containersOf(id)[0]!]);
    expect((await inState(app, id, 'completed')).step).toBe(2);
    expect(readFileSync(join(path, 'kept.txt'), 'utf8')).toBe('renewed\n');
    await onlyTheRecordIsLeft(id);
  });

  it('fails with a sentence when the file went away, and no further one is begun', async () => {
    await scripts('away');
    const first = await startTask(app, 'wait 5', { workspace: 'away' });
    const second = await startTask(app, 'write a.txt a', { workspace: 'away', thread: first.thread });
    await waits(first.id);
    rmSync(login());
    await inState(app, first.id, 'completed');
    expect((await inState(app, second.id, 'failed')).reason).toBe(
      'The log-in of practice agent cannot be used on the machine that runs it. See Health on my page, under Settings.',
    );
    expect((await findTask(app, second.id)).step).toBe(0);
    await until('the host says so', async () => {
      const { harnesses } = await app.store.db.selectFrom('kennel_hosts').select('harnesses').executeTakeFirstOrThrow();
      return harnesses.some(({ name, why }) => name === 'practice' && why?.includes('does not exist on this host'));
    });
    await expect(startTask(app, 'write a.txt a', { workspace: 'away', thread: first.thread })).rejects.toThrow(
      /does not exist on this host/,
    );
    put('practice.json', TOKEN);
    await until('it is ready again', async () => {
      const { harnesses } = await app.store.db.selectFrom('kennel_hosts').select('harnesses').executeTakeFirstOrThrow();
      return harnesses.some(({ name, ready }) => name === 'practice' && ready);
    });
  });
});

describe('a host with log-ins', () => {
  it('forgets what a task has left that ended without it', async () => {
    const left = join(runs(), 'task_long_over');
    mkdirSync(join(left, 'home/.claude'), { recursive: true });
    for (const name of [...RECORD, 'home/.claude/.credentials.json']) writeFileSync(join(left, name), '{}');
    await onlyTheRecordIsLeft('task_long_over');
  });

  it('counts their agents as ready without a key, and the one whose file is missing as not', async () => {
    const { harnesses } = await app.store.db.selectFrom('kennel_hosts').select('harnesses').executeTakeFirstOrThrow();
    expect(harnesses.find(({ name }) => name === 'claude')).toMatchObject({ ready: true, why: null });
    expect(harnesses.find(({ name }) => name === 'gemini')).toMatchObject({
      ready: false,
      why: expect.stringContaining('none.json does not exist'),
    });
  });

  it('warns of each once when it starts, and in "fetch kennel doctor", which says what is missing too', async () => {
    const lines = roleLog(app, 'kennel').split('\n');
    const warned = lines
      .filter((line) => line.includes('enters its containers'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(warned.map(({ harness, level, path }) => [harness, level, path])).toEqual([
      ['practice', 40, login()],
      ['claude', 40, join(folder, 'claude.json')],
      ['gemini', 40, join(folder, 'none.json')],
    ]);
    const clean = Object.fromEntries(
      Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name)),
    );
    const { stdout } = await promisify(execFile)(process.execPath, [ENTRY, 'kennel', 'doctor', '--json'], {
      env: { ...clean, ...env, FETCH_HOME: app.home },
    }).catch((error: { stdout: string }) => error);
    const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
    expect(ok).toBe(false);
    expect(findings.filter(({ name }) => name.startsWith('log-in'))).toMatchObject([
      {
        name: 'log-in practice',
        state: 'warning',
        detail: expect.stringMatching(/can read it.*budgets of tokens and money do not bound it/),
      },
      { name: 'log-in claude', state: 'warning' },
      {
        name: 'log-in gemini',
        state: 'missing',
        detail: expect.stringContaining('none.json does not exist on this host'),
      },
    ]);
  });
});
